package protocol

import "testing"

func TestXXH32(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     uint32
	}{
		{"empty input", "", 0x02cc5d05},
		{"one byte goes through the tail loop", "a", 0x550d7456},
		{"three bytes", "abc", 0x32d153ff},
		{"more than one stripe", "Nobody inspects the spammish repetition", 0xe2293b2f},
		{"a client's address, from the recording", "127.0.0.1:58282", 0xb67fb244},
		{"another one, not recorded over a stripe's end", "127.0.0.1:58288", 0xd9eac580},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := XXH32([]byte(tt.in)); got != tt.want {
				t.Errorf("XXH32(%q) = %#08x, want %#08x", tt.in, got, tt.want)
			}
		})
	}
}
