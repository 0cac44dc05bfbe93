// Package apitable prints the API keys with their versions and headers.
package apitable

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool/exchange"
)

// Write prints one line per API key: its versions, and those of the headers in
// front of requests and responses. Where a broker's ranges are given they stand
// beside, and keys that only the broker has follow.
func Write(w io.Writer, broker map[int16]exchange.Range) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		// What a tabwriter writes is held until Flush, which has the error.
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	head := []string{"KEY", "API", "VERSIONS", "REQUEST HEADER", "RESPONSE HEADER"}
	if broker != nil {
		head = append(head, "BROKER")
	}
	line(head...)
	valid, versions := 0, 0
	for i := range generated.APIs() {
		a := &generated.APIs()[i]
		row := []string{fmt.Sprint(a.Key), a.Name, ours(a), headers(a, a.RequestHeaderVersion), headers(a, a.ResponseHeaderVersion)}
		if a.Valid() {
			valid++
			versions += int(a.Max-a.Min) + 1
		}
		if broker != nil {
			row = append(row, theirs(broker, a.Key))
		}
		line(row...)
	}
	for _, key := range slices.Sorted(maps.Keys(broker)) {
		if _, ok := generated.LookupAPI(key); !ok {
			line(fmt.Sprint(key), "unknown", "-", "-", "-", theirs(broker, key))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d keys, %d with versions, %d versions of Kafka %s\n", len(generated.APIs()), valid, versions, generated.KafkaVersion)
	return err
}

func ours(a *generated.API) string {
	switch {
	case !a.Valid():
		return "removed"
	case a.Max != a.MaxStable:
		return fmt.Sprintf("%s, %d unstable", span(a.Min, a.MaxStable), a.Max)
	default:
		return span(a.Min, a.Max)
	}
}

func theirs(broker map[int16]exchange.Range, key int16) string {
	r, ok := broker[key]
	if !ok {
		return "-"
	}
	return span(r.Min, r.Max)
}

func span(from, to int16) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// headers lists the header versions of an API with the API versions that they
// belong to, such as "v1 for 0-8, v2 for 9-13".
func headers(a *generated.API, of func(int16) int16) string {
	if !a.Valid() {
		return "-"
	}
	var parts []string
	for from := a.Min; from <= a.Max; {
		to := from
		for to < a.Max && of(to+1) == of(from) {
			to++
		}
		parts = append(parts, fmt.Sprintf("v%d for %s", of(from), span(from, to)))
		from = to + 1
	}
	if len(parts) == 1 {
		return fmt.Sprintf("v%d", of(a.Min))
	}
	return strings.Join(parts, ", ")
}
