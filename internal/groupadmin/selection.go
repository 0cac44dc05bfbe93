package groupadmin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Selection is which partitions to work on: by topic, the partitions, and none
// for all of a topic's. An empty Selection stands for everything that the
// operation is about.
type Selection map[string][]int32

// ParseSelection reads what --topic is given: topic, or topic:0,1,2.
func ParseSelection(args []string) (Selection, error) {
	s := make(Selection)
	for _, arg := range args {
		topic, list, some := strings.Cut(arg, ":")
		if topic == "" {
			return nil, fmt.Errorf("%q names no topic; allowed: TOPIC or TOPIC:0,1,2", arg)
		}
		partitions, known := s[topic]
		if known && (!some || len(partitions) == 0) {
			return nil, fmt.Errorf("topic %s is named twice", topic)
		}
		if !some {
			s[topic] = nil
			continue
		}
		for _, text := range strings.Split(list, ",") {
			p, err := strconv.ParseInt(text, 10, 32)
			if err != nil || p < 0 {
				return nil, fmt.Errorf("%q has no partition %q; allowed: TOPIC or TOPIC:0,1,2", arg, text)
			}
			if slices.Contains(partitions, int32(p)) {
				return nil, fmt.Errorf("partition %d of topic %s is named twice", p, topic)
			}
			partitions = append(partitions, int32(p))
		}
		s[topic] = partitions
	}
	return s, nil
}

// has reports whether a partition is selected.
func (s Selection) has(tp TopicPartition) bool {
	if len(s) == 0 {
		return true
	}
	partitions, ok := s[tp.Topic]
	return ok && (len(partitions) == 0 || slices.Contains(partitions, tp.Partition))
}

// topics are the selected topics, sorted.
func (s Selection) topics() []string {
	set := make(map[string]bool, len(s))
	for t := range s {
		set[t] = true
	}
	return sortedKeys(set)
}

// partitions are the selected ones of those that there are, sorted. Each that is
// named must exist.
func (s Selection) partitions(bounds map[TopicPartition]Bounds) ([]TopicPartition, error) {
	var out []TopicPartition
	topics := make(map[string]bool)
	for tp := range bounds {
		topics[tp.Topic] = true
		if s.has(tp) {
			out = append(out, tp)
		}
	}
	for _, topic := range s.topics() {
		if !topics[topic] {
			return nil, fmt.Errorf("%w: there is no topic %s", ErrRefused, topic)
		}
		for _, p := range s[topic] {
			if _, ok := bounds[TopicPartition{topic, p}]; !ok {
				return nil, fmt.Errorf("%w: topic %s has no partition %d", ErrRefused, topic, p)
			}
		}
	}
	slices.SortFunc(out, compare)
	return out, nil
}
