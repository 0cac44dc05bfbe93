package groupadmin

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Kind is how a new position is given.
type Kind int

// The kinds.
const (
	// Earliest and Latest are the ends of the log.
	Earliest Kind = iota
	Latest
	// ToOffset is Target.Offset in every partition.
	ToOffset
	// AtTime is the first record at or after Target.Time, the end if there is none.
	AtTime
	// ShiftBy moves what is committed by Target.Offset.
	ShiftBy
	// FromFile is Target.Offsets.
	FromFile
)

// Target says where offsets are to be set. Whatever lies outside of a
// partition's log is moved to its nearer end.
type Target struct {
	Kind    Kind
	Offset  int64
	Time    time.Time
	Offsets map[TopicPartition]int64
}

// timeForms are the forms of --to-datetime; without a zone it is UTC.
var timeForms = []string{"2006-01-02T15:04:05.999Z07:00", "2006-01-02T15:04:05.999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02"}

// ParseTime reads a point in time: YYYY-MM-DDTHH:MM:SS.sss, with a zone (Z,
// +02:00) or in UTC.
func ParseTime(text string) (time.Time, error) {
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date and time; allowed: YYYY-MM-DDTHH:MM:SS.sss, in UTC unless a zone follows (Z, +02:00)", text)
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// ParseDuration reads a length of time: PnDTnHnMnS (ISO 8601), or 36h, 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is no length of time; allowed: PnDTnHnMnS (P7D, PT1H30M), or with units (36h, 90m)", text)
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	m := isoDuration.FindStringSubmatch(text)
	if m == nil || slices.Equal(m[1:], make([]string, len(m)-1)) {
		return 0, wrong
	}
	var seconds float64
	for i, unit := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		if m[i+1] != "" {
			n, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return 0, wrong
			}
			seconds += n * unit
		}
	}
	if seconds >= math.MaxInt64/1e9 {
		return 0, wrong
	}
	return time.Duration(seconds * 1e9), nil
}

// ReadFile reads offsets in the form in which kafka-consumer-groups exports
// them: lines of topic,partition,offset, or of group,topic,partition,offset, of
// which those of other groups are passed over. Fields may stand in quotes, and
// a first line with the fields' names may lead.
func ReadFile(r io.Reader, group string) (map[TopicPartition]int64, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	in.TrimLeadingSpace = true
	in.ReuseRecord = true
	offsets := make(map[TopicPartition]int64)
	for first := true; ; first = false {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		if first && fields[len(fields)-1] == "offset" {
			continue
		}
		if len(fields) == 4 {
			if fields[0] != group {
				continue
			}
			fields = fields[1:]
		}
		tp, offset, err := readRow(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if _, twice := offsets[tp]; twice {
			return nil, fmt.Errorf("line %d: %v is there twice", line, tp)
		}
		offsets[tp] = offset
	}
	if len(offsets) == 0 {
		return nil, fmt.Errorf("there is no offset of group %s in it", group)
	}
	return offsets, nil
}

func readRow(fields []string) (TopicPartition, int64, error) {
	if len(fields) != 3 || fields[0] == "" {
		return TopicPartition{}, 0, fmt.Errorf("%d fields; allowed: TOPIC,PARTITION,OFFSET", len(fields))
	}
	partition, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || partition < 0 {
		return TopicPartition{}, 0, fmt.Errorf("%q is no partition", fields[1])
	}
	offset, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || offset < 0 {
		return TopicPartition{}, 0, fmt.Errorf("%q is no offset", fields[2])
	}
	return TopicPartition{fields[0], int32(partition)}, offset, nil
}
