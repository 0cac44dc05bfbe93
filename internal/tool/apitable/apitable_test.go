package apitable

import (
	"errors"
	"strings"
	"testing"

	"kafka-iggy-bridge/internal/tool/exchange"
)

// fields splits a line of the table into its columns.
func fields(line string) []string {
	var out []string
	for _, f := range strings.Split(line, "  ") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}

func table(t *testing.T, broker map[int16]exchange.Range) map[string][]string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, broker); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(b.String()) {
		f := fields(line)
		rows[f[0]] = f
	}
	return rows
}

func TestRows(t *testing.T) {
	t.Parallel()
	rows := table(t, map[int16]exchange.Range{0: {Min: 0, Max: 13}, 17: {Min: 1, Max: 1}, 500: {Min: 0, Max: 2}})
	for _, want := range []string{
		"KEY  API  VERSIONS  REQUEST HEADER  RESPONSE HEADER  BROKER",
		"0  Produce  3-13  v1 for 3-8, v2 for 9-13  v0 for 3-8, v1 for 9-13  0-13",
		"5  StopReplica  removed  -  -  -",
		"17  SaslHandshake  0-1  v1  v0  1",
		"18  ApiVersions  0-5  v1 for 0-2, v2 for 3-5  v0  -",
		"22  InitProducerId  0-5, 6 unstable  v1 for 0-1, v2 for 2-6  v0 for 0-1, v1 for 2-6  -",
		"47  OffsetDelete  0  v1  v0  -",
		"500  unknown  -  -  -  0-2",
		"95 keys, 91 with versions, 309 versions of Kafka 4.4.0",
	} {
		key := fields(want)[0]
		if got := strings.Join(rows[key], "  "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := table(t, nil)["0"]; len(got) != 5 {
		t.Errorf("without a broker a row has %d columns: %v", len(got), got)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	t.Parallel()
	if err := Write(full{}, nil); !errors.Is(err, errFull) {
		t.Errorf("got %v, want the writer's error", err)
	}
}
