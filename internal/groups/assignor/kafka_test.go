package assignor

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/wire"
)

// kafkaCase is a question to Kafka's assignors with its answer, a line of
// testdata/kafka-4.4.0.jsonl. Topics are numbers.
type kafkaCase struct {
	Assignor   string
	Alike      bool
	Partitions map[string]int32
	Members    []struct {
		ID, Instance string
		Topics       []uint64
		Current      map[string][]int32
	}
	Result map[string]map[string][]int32
}

// topicID is the id that stands for a number.
func topicID(n uint64) wire.UUID {
	var id wire.UUID
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

func assignmentOf(t *testing.T, byNumber map[string][]int32) Assignment {
	t.Helper()
	a := make(Assignment)
	for number, partitions := range byNumber {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		a[topicID(n)] = partitions
	}
	return a
}

func (c *kafkaCase) spec(t *testing.T) *Spec {
	t.Helper()
	spec := &Spec{Partitions: make(map[wire.UUID]int32)}
	for number, count := range c.Partitions {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		spec.Partitions[topicID(n)] = count
	}
	for _, m := range c.Members {
		member := Member{ID: m.ID, InstanceID: m.Instance, Current: assignmentOf(t, m.Current)}
		for _, n := range m.Topics {
			member.Topics = append(member.Topics, topicID(n))
		}
		spec.Members = append(spec.Members, member)
	}
	return spec
}

// TestAsKafka compares with what Kafka 4.4.0 assigns: range and uniform with
// different subscriptions are the same to the partition; uniform with the same
// subscriptions has the same number for everybody, and moves no more than Kafka,
// which is not as careful about where the remainder goes.
func TestAsKafka(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/kafka-4.4.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		var c kafkaCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		t.Run(fmt.Sprintf("line %d %s alike %v", n, c.Assignor, c.Alike), func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func (c *kafkaCase) check(t *testing.T) {
	spec := c.spec(t)
	assign, ok := ByName(c.Assignor)
	if !ok {
		t.Fatalf("no assignor %q", c.Assignor)
	}
	got, err := assign(spec)
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, spec, got)
	want := make(map[string]Assignment)
	for id, a := range c.Result {
		want[id] = assignmentOf(t, a)
	}
	if c.Assignor == UniformName && sameSubscriptions(spec) {
		if got, want := sizes(got), sizes(want); !slices.Equal(got, want) {
			t.Errorf("members have %v partitions, in Kafka %v", got, want)
		}
		if got, want := kept(spec, got), kept(spec, want); got < want {
			t.Errorf("%d partitions stay, in Kafka %d", got, want)
		}
		return
	}
	for id := range got {
		if got[id] == nil {
			got[id] = Assignment{}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs from Kafka (-want +got):\n%s", diff)
	}
}

// sameSubscriptions tells whether all members subscribe to the same topics; those
// of a test are sorted.
func sameSubscriptions(spec *Spec) bool {
	for i := range spec.Members {
		if !slices.Equal(spec.Members[i].Topics, spec.Members[0].Topics) {
			return false
		}
	}
	return true
}

// sizes are how many partitions the members have, sorted.
func sizes(result map[string]Assignment) []int {
	var all []int
	for _, a := range result {
		all = append(all, size(a))
	}
	slices.Sort(all)
	return all
}

func size(a Assignment) int {
	n := 0
	for _, partitions := range a {
		n += len(partitions)
	}
	return n
}

// kept is how many partitions stay with their members.
func kept(spec *Spec, result map[string]Assignment) int {
	n := 0
	for _, m := range spec.Members {
		for id, partitions := range m.Current {
			for _, p := range partitions {
				if slices.Contains(result[m.ID][id], p) {
					n++
				}
			}
		}
	}
	return n
}
