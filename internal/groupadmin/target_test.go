package groupadmin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPointsInTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // "" for an error
		"2026-03-01T10:20:30.456":       "2026-03-01T10:20:30.456Z",
		"2026-03-01T10:20:30":           "2026-03-01T10:20:30Z",
		"2026-03-01T10:20:30.456Z":      "2026-03-01T10:20:30.456Z",
		"2026-03-01T10:20:30.456+02:00": "2026-03-01T08:20:30.456Z",
		"2026-03-01T10:20":              "2026-03-01T10:20:00Z",
		"2026-03-01":                    "2026-03-01T00:00:00Z",
		"yesterday":                     "",
		"2026-13-01":                    "",
		"":                              "",
	} {
		got, err := ParseTime(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q: %v", text, got)
			}
			continue
		}
		if err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestLengthsOfTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{ // -1 for an error
		"P7D":         7 * 24 * time.Hour,
		"PT1H30M":     90 * time.Minute,
		"P1DT2H3M4S":  26*time.Hour + 3*time.Minute + 4*time.Second,
		"PT0.5S":      500 * time.Millisecond,
		"P2W":         14 * 24 * time.Hour,
		"PT0S":        0,
		"36h":         36 * time.Hour,
		"0s":          0,
		"P":           -1,
		"PT":          -1,
		"P1Y":         -1,
		"-5m":         -1,
		"5":           -1,
		"":            -1,
		"P999999999D": -1,
	} {
		got, err := ParseDuration(text)
		if want < 0 != (err != nil) || err == nil && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestFilesOfOffsets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want map[TopicPartition]int64 // nil for an error
	}{
		"as it is exported for one group":    {"a,0,15\nb,0,3\n", map[TopicPartition]int64{tp("a", 0): 15, tp("b", 0): 3}},
		"as it is exported for many groups":  {"\"g\",\"a\",0,15\n\"other\",\"a\",0,9\n", map[TopicPartition]int64{tp("a", 0): 15}},
		"with the fields' names":             {"topic,partition,offset\na,0,15\n", map[TopicPartition]int64{tp("a", 0): 15}},
		"quotes, blanks, no last line break": {"\"a\", 0, 15", map[TopicPartition]int64{tp("a", 0): 15}},
		"line ends of Windows":               {"a,0,15\r\n", map[TopicPartition]int64{tp("a", 0): 15}},
		"nothing":                            {"", nil},
		"of other groups only":               {"other,a,0,15\n", nil},
		"too few fields":                     {"a,0\n", nil},
		"too many fields":                    {"g,a,0,1,2\n", nil},
		"no topic":                           {",0,1\n", nil},
		"no partition":                       {"a,x,1\n", nil},
		"a negative partition":               {"a,-1,1\n", nil},
		"no offset":                          {"a,0,end\n", nil},
		"a negative offset":                  {"a,0,-1\n", nil},
		"a partition twice":                  {"a,0,1\na,0,2\n", nil},
		"an open quote":                      {"\"a,0,1\n", nil},
	} {
		got, err := ReadFile(strings.NewReader(tc.text), "g")
		if (err != nil) != (tc.want == nil) || err == nil && !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
