package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
)

func pair(t *testing.T, key, version int16) tool.Pair {
	t.Helper()
	a, ok := generated.LookupAPI(key)
	if !ok {
		t.Fatalf("no key %d", key)
	}
	return tool.Pair{API: a, Version: version}
}

func TestRequestBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		version int16
		want    string
	}{
		{"header v1, no tags", 0, "\x00\x00\x00\x0b\x00\x12\x00\x00\x00\x00\x00\x07\x00\x01a"},
		{"header v2, tags behind the client id", 3, "\x00\x00\x00\x0f\x00\x12\x00\x03\x00\x00\x00\x07\x00\x01a\x00\x01\x01\x00"},
	} {
		m := generated.DefaultApiVersionsRequest()
		got, err := AppendRequest([]byte("before"), pair(t, 18, c.version), 7, "a", &m)
		if err != nil || string(got) != "before"+c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.want)
		}
	}
}

func TestResponseBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pair  tool.Pair
		start string
	}{
		{"ApiVersions keeps header v0 in flexible versions", pair(t, 18, 3), "\x00\x00\x00\x0c\x00\x00\x00\x07\x00\x00\x01"},
		{"other flexible versions have header v1", pair(t, 12, 4), "\x00\x00\x00\x0c\x00\x00\x00\x07\x00"},
		{"fixed versions have header v0", pair(t, 12, 3), "\x00\x00\x00\x0a\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00"},
	} {
		got, err := AppendResponse(nil, c.pair, 7, c.pair.API.NewResponse())
		if err != nil || !bytes.HasPrefix(got, []byte(c.start)) {
			t.Errorf("%s: %q (%v), want %q and more", c.name, got, err, c.start)
			continue
		}
		payload, err := Payload(got)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		h, m, err := DecodeResponse(c.pair, payload)
		if err != nil || h.CorrelationId != 7 || m.Schema().APIKey != c.pair.API.Key {
			t.Errorf("%s: decoding: %+v %v", c.name, h, err)
		}
		if _, _, err := DecodeResponse(c.pair, append(payload, 0)); !errors.Is(err, ErrSpare) {
			t.Errorf("%s: with a byte behind: %v, want ErrSpare", c.name, err)
		}
		if _, _, err := DecodeResponse(c.pair, payload[:3]); err == nil {
			t.Errorf("%s: three bytes decode", c.name)
		}
	}
}

func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, payload string
		ok            bool
	}{
		{"sound", "\x00\x12\x00\x00\x00\x00\x00\x07\x00\x01a", true},
		{"bytes behind the body", "\x00\x12\x00\x00\x00\x00\x00\x07\x00\x01ab", false},
		{"too short for a key and version", "\x00\x12\x00", false},
		{"ends in the header", "\x00\x12\x00\x00\x00\x00", false},
		{"key that does not exist", "\x01\x12\x00\x00\x00\x00\x00\x07\x00\x01a", false},
		{"key that Kafka removed", "\x00\x05\x00\x00\x00\x00\x00\x07\x00\x01a", false},
		{"version that does not exist", "\x00\x12\x00\x77\x00\x00\x00\x07\x00\x01a", false},
	} {
		h, _, err := DecodeRequest([]byte(c.payload))
		if (err == nil) != c.ok || c.ok && h.CorrelationId != 7 {
			t.Errorf("%s: %+v, %v", c.name, h, err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream, want string
		err                error
	}{
		{"one frame", "\x00\x00\x00\x02ab", "ab", nil},
		{"the first of two", "\x00\x00\x00\x02ab\x00", "ab", nil},
		{"empty frame", "\x00\x00\x00\x00", "", nil},
		{"end before a frame", "", "", io.EOF},
		{"end inside the size", "\x00\x00", "", ErrTruncated},
		{"end inside the frame", "\x00\x00\x00\x02a", "", ErrTruncated},
		{"end behind the size", "\x00\x00\x00\x02", "", ErrTruncated},
		{"negative size", "\xff\xff\xff\xff", "", ErrSize},
		{"size above the limit", "\x7f\xff\xff\xff", "", ErrSize},
	} {
		for _, r := range []io.Reader{bytes.NewReader([]byte(c.stream)), iotest.OneByteReader(bytes.NewReader([]byte(c.stream)))} {
			got, err := Read(r)
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the stream's error", err)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, framed string
		err          error
	}{
		{"whole", "\x00\x00\x00\x01a", nil},
		{"too short", "\x00\x00\x00", ErrSize},
		{"announces more", "\x00\x00\x00\x02a", ErrSize},
		{"announces less", "\x00\x00\x00\x00a", ErrSize},
		{"announces less than nothing", "\xff\xff\xff\xffa", ErrSize},
	} {
		if _, err := Payload([]byte(c.framed)); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}
