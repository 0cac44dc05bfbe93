package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/groupadmin"
)

// print writes a result in the form that was asked for.
func (f *groupFlags) print(cmd *cobra.Command, result any, rows func(*table)) error {
	if f.output == outputJSON {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(result)
	}
	t := &table{out: cmd.OutOrStdout()}
	rows(t)
	return t.flush()
}

// table writes aligned columns. Its errors show when it is flushed.
type table struct {
	out   io.Writer
	lines []string
	err   error
}

// line adds a row of columns.
func (t *table) line(columns ...any) {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = cell(c)
	}
	t.lines = append(t.lines, strings.Join(texts, "\t"))
}

// cell is the text of a column: a dash for what there is not.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "-"
		}
		return v
	case int64:
		if v == groupadmin.Unknown {
			return "-"
		}
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(v)
}

// text ends a block of columns and writes a line as it is.
func (t *table) text(format string, args ...any) {
	t.block()
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format+"\n", args...)
	}
}

// block writes the rows so far. The last column is not padded.
func (t *table) block() {
	if len(t.lines) == 0 || t.err != nil {
		return
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, l := range t.lines {
		if _, err := fmt.Fprintln(w, l); err != nil {
			t.err = err
			return
		}
	}
	t.lines = nil
	t.err = w.Flush()
}

func (t *table) flush() error {
	t.block()
	return t.err
}

func (t *table) groups(groups []groupadmin.Group) {
	if len(groups) == 0 {
		t.text("There are no groups.")
		return
	}
	t.line("GROUP", "TYPE", "STATE", "PROTOCOL", "MEMBERS", "LAG")
	for i := range groups {
		g := &groups[i]
		t.line(g.Name, g.Type, g.State, g.Protocol, len(g.Members), lag(g))
	}
	for i := range groups {
		t.failure(&groups[i])
	}
}

// lag is a group's lag in words; what is not known of it shows as a plus.
func lag(g *groupadmin.Group) string {
	n, complete := g.Lag()
	switch {
	case len(g.Offsets) == 0:
		return ""
	case complete:
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + "+"
}

func (t *table) failure(g *groupadmin.Group) {
	if g.Failure != "" {
		t.text("Group %s is shown in part: %s", g.Name, g.Failure)
	}
}

func (t *table) group(g *groupadmin.Group) {
	t.text("Group %s: type %s, state %s, protocol %s, members %d, lag %s", g.Name, cell(g.Type), cell(g.State), cell(g.Protocol), len(g.Members), cell(lag(g)))
	t.failure(g)
	if len(g.Members) > 0 {
		t.line("MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS")
		for i := range g.Members {
			m := &g.Members[i]
			t.line(m.ID, m.InstanceID, m.ClientID, m.Host, len(m.Assigned))
		}
		t.block()
	}
	if len(g.Offsets) == 0 {
		t.text("No offsets are committed.")
		return
	}
	t.line("TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER")
	for i := range g.Offsets {
		o := &g.Offsets[i]
		t.line(o.Topic, o.Partition, o.Committed, o.End, o.Lag, o.Member)
	}
	t.block()
}

func (t *table) reset(r *groupadmin.Reset) {
	t.line("TOPIC", "PARTITION", "CURRENT", "NEW", "END", "NOTE")
	for i := range r.Rows {
		m := &r.Rows[i]
		t.line(m.Topic, m.Partition, m.Current, m.New, m.End, m.Note)
	}
	switch {
	case r.Executed:
		t.text("Set for group %s: %d offsets, of which %d are new.", r.Group, len(r.Rows), r.Changes())
	default:
		t.text("A dry run: nothing was changed. With --execute %d of %d offsets of group %s change.", r.Changes(), len(r.Rows), r.Group)
	}
}

func (t *table) handover(h *groupadmin.Handover) {
	t.line("TOPIC", "PARTITION", "KAFKA", "IGGY", "NEW", "NOTE")
	for i := range h.Rows {
		r := &h.Rows[i]
		t.line(r.Topic, r.Partition, r.Kafka, r.Iggy, r.New, r.Note)
	}
	from, to := fmt.Sprintf("Kafka group %q", h.Group), fmt.Sprintf("Iggy's consumer group %q", h.IggyGroup)
	if h.Direction == groupadmin.FromIggy {
		from, to = to, from
	}
	if !h.Executed {
		t.text("A dry run: nothing was changed. With --execute %s takes over from %s, and %d of %d offsets change there.", to, from, h.Changes(), len(h.Rows))
		return
	}
	t.text("Moved: %s goes on where %s was, in %d partitions.", to, from, len(h.Rows))
	t.text("%s", h.Left())
}
