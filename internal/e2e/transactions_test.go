package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// transactionProtocols are the ways in which franz-go's transactions work: those
// of KIP-890, where producing adds partitions and each transaction has an epoch
// of its own, and those before it.
var transactionProtocols = map[string][]kgo.Opt{
	"kip-890": nil,
	"before":  {kgo.MaxVersions(kversion.V3_6_0())},
}

// isolations are the two ways to read.
var isolations = map[string]kgo.IsolationLevel{"committed": kgo.ReadCommitted(), "uncommitted": kgo.ReadUncommitted()}

// persistent are options of a client that outlives a bridge.
func persistent() []kgo.Opt {
	return []kgo.Opt{kgo.RequestRetries(1000), kgo.RetryTimeout(stepTime), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond })}
}

// transactional returns a franz-go client with a transactional id.
func transactional(t *testing.T, addr, id string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return franz(t, addr, slices.Concat([]kgo.Opt{kgo.TransactionalID(id), kgo.ProducerLinger(0)}, persistent(), opts)...)
}

// valuesFor are records for a partition.
func valuesFor(topic string, partition int32, values ...string) []*kgo.Record {
	var rs []*kgo.Record
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
	return rs
}

// begin begins a transaction and writes its first records.
func begin(t *testing.T, c *kgo.Client, rs ...*kgo.Record) {
	t.Helper()
	if err := c.BeginTransaction(); err != nil {
		t.Fatalf("begin: %v", err)
	}
	write(t, c, rs...)
}

// write writes records, within the transaction if there is one.
func write(t *testing.T, c *kgo.Client, rs ...*kgo.Record) {
	t.Helper()
	if err := c.ProduceSync(within(t, stepTime), rs...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// end ends a transaction.
func end(t *testing.T, c *kgo.Client, how kgo.TransactionEndTry) {
	t.Helper()
	if err := c.EndTransaction(within(t, stepTime), how); err != nil {
		t.Fatalf("end, commit %t: %v", how, err)
	}
}

// bound is how far readers get: those of committed records, and all.
type bound struct{ stable, end int64 }

// bounds asks for the ends of all partitions of topics, again while the bridge has
// only just started.
func bounds(t *testing.T, addr string, topics ...string) map[place]bound {
	t.Helper()
	admin := kadm.NewClient(franz(t, addr, persistent()...))
	defer admin.Close()
	var out map[place]bound
	await(t, fmt.Sprintf("the ends of %v are told", topics), func() bool {
		out = map[place]bound{}
		// The stable ones first, so that they are never the greater ones.
		return listEnds(t, topics, admin.ListCommittedOffsets, func(at place, n int64) { out[at] = bound{stable: n} }) &&
			listEnds(t, topics, admin.ListEndOffsets, func(at place, n int64) { out[at] = bound{out[at].stable, n} })
	})
	return out
}

func listEnds(t *testing.T, topics []string, list func(context.Context, ...string) (kadm.ListedOffsets, error), set func(place, int64)) bool {
	t.Helper()
	listed, err := list(within(t, stepTime), topics...)
	if err != nil || listed.Error() != nil {
		return false
	}
	listed.Each(func(o kadm.ListedOffset) { set(place{o.Topic, o.Partition}, o.Offset) })
	return true
}

// awaitSettled waits until no transaction is open in any of the topics.
func awaitSettled(t *testing.T, addr string, topics ...string) map[place]bound {
	t.Helper()
	var now map[place]bound
	await(t, fmt.Sprintf("the transactions in %v are over", topics), func() bool {
		now = bounds(t, addr, topics...)
		for _, b := range now {
			if b.stable < b.end {
				return false
			}
		}
		return true
	})
	return now
}

// awaitBound waits for the ends of partition 0 of a topic.
func awaitBound(t *testing.T, addr, topic string, want bound) {
	t.Helper()
	var got bound
	defer func() {
		if got != want {
			t.Errorf("%s is stable up to %d and ends at %d, want %d and %d", topic, got.stable, got.end, want.stable, want.end)
		}
	}()
	await(t, topic+" ends as it should", func() bool { got = bounds(t, addr, topic)[place{topic, 0}]; return got == want })
}

// readRecords reads topics without open transactions to their ends, and returns
// what is in each partition.
func readRecords(t *testing.T, addr string, level kgo.IsolationLevel, topics ...string) map[place][]*kgo.Record {
	t.Helper()
	ends := awaitSettled(t, addr, topics...)
	// Control records say how far it got where nothing else is to be seen.
	c := franz(t, addr, slices.Concat(persistent(), []kgo.Opt{kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50 * time.Millisecond)})...)
	defer c.Close()
	ctx := within(t, stepTime)
	read, next := map[place][]*kgo.Record{}, map[place]int64{}
	maps.DeleteFunc(ends, func(_ place, b bound) bool { return b.end == 0 })
	for len(ends) > 0 {
		fetches := c.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%v are not read to their ends, but up to %v, within %s", ends, next, stepTime)
		}
		fetches.EachError(func(topic string, p int32, err error) { t.Fatalf("fetch %s-%d: %v", topic, p, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			at := place{r.Topic, r.Partition}
			if r.Offset < next[at] {
				t.Fatalf("%s-%d: offset %d comes behind %d", r.Topic, r.Partition, r.Offset, next[at])
			}
			if !r.Attrs.IsControl() {
				read[at] = append(read[at], r)
			}
			if next[at] = r.Offset + 1; next[at] >= ends[at].end {
				delete(ends, at)
			}
		})
	}
	return read
}

// readAll is readRecords for those who look at values only.
func readAll(t *testing.T, addr string, level kgo.IsolationLevel, topics ...string) map[place][]string {
	t.Helper()
	values := map[place][]string{}
	for at, rs := range readRecords(t, addr, level, topics...) {
		for _, r := range rs {
			values[at] = append(values[at], string(r.Value))
		}
	}
	return values
}

// sameValues compares what is in partitions.
func sameValues(t *testing.T, what string, got, want map[place][]string) {
	t.Helper()
	for _, at := range slices.Collect(maps.Keys(want)) {
		if !slices.Equal(got[at], want[at]) {
			t.Errorf("%s: %s-%d has %s, want %s", what, at.topic, at.partition, some(got[at]), some(want[at]))
		}
	}
	for at, values := range got {
		if _, ok := want[at]; !ok && len(values) > 0 {
			t.Errorf("%s: %s-%d has %s, want nothing", what, at.topic, at.partition, some(values))
		}
	}
}

// some shows the beginning of a long list.
func some(values []string) string {
	const most = 40
	if len(values) > most {
		return fmt.Sprintf("%v… (%d)", values[:most], len(values))
	}
	return fmt.Sprint(values)
}
