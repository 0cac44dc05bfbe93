package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

func TestProduceInAllVersions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 1)
	var want []string
	for v := int16(3); v <= 13; v++ {
		rows := f.produceRows(v, produceRequest(part{topic: "orders", id: topic.ID, records: values(fmt.Sprint("a", v), "b")}))
		if len(rows) != 1 {
			t.Fatalf("v%d: %d rows", v, len(rows))
		}
		wantStart := int64(0)
		if v < 5 {
			wantStart = -1
		}
		r := rows[0]
		if r.ErrorCode != 0 || r.BaseOffset != int64(len(want)) || r.LogAppendTimeMs != -1 || r.LogStartOffset != wantStart || len(r.RecordErrors) > 0 || r.ErrorMessage.Valid {
			t.Errorf("v%d: %+v", v, r)
		}
		want = append(want, fmt.Sprint("a", v), "b")
	}
	if got := f.contents("orders", 0, 0); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProduceRefusesAcks(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	for _, acks := range []int16{2, -2, 32767, -32768} {
		req := produceRequest(part{topic: "orders", records: values("a")}, part{topic: "none", records: values("a")}, part{topic: "orders", partition: 7, records: values("a")})
		req.Acks = acks
		codes := produceCodes(f.produceRows(9, req))
		if want := []int16{21, 3, 3}; !slices.Equal(codes, want) {
			t.Errorf("acks %d: %v, want %v", acks, codes, want)
		}
	}
	if got := f.contents("orders", 0, 0); len(got) > 0 {
		t.Errorf("written all the same: %v", got)
	}
}

// TestProduceFindsFaultsOfTheRequestBeforeAcks: as Kafka does, whose log finds the
// others after it has looked at acks.
func TestProduceFindsFaultsOfTheRequestBeforeAcks(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	zstd := batch(records.BatchSpec{Codec: records.CodecZstd}, record{value: []byte("v")})
	broken := values("a")
	broken[len(broken)-1] ^= 1
	for name, c := range map[string]struct {
		records []byte
		version int16
		want    int16
	}{
		"two batches":          {append(values("a"), values("b")...), 9, errorcode.InvalidRecord},
		"nothing":              {[]byte{}, 9, errorcode.InvalidRecord},
		"zstd before 7":        {zstd, 6, errorcode.UnsupportedCompressionType},
		"zstd":                 {zstd, 7, errorcode.InvalidRequiredAcks},
		"a wrong checksum":     {broken, 9, errorcode.InvalidRequiredAcks},
		"nothing is the fault": {values("a"), 9, errorcode.InvalidRequiredAcks},
	} {
		req := produceRequest(part{topic: "orders", records: c.records})
		req.Acks = 2
		if row := f.produceRows(c.version, req)[0]; row.ErrorCode != c.want || row.BaseOffset != notKnown {
			t.Errorf("%s: %+v, want %d", name, row, c.want)
		}
	}
}

func produceCodes(rows []generated.ProduceResponsePartitionProduceResponse) []int16 {
	var codes []int16
	for _, r := range rows {
		codes = append(codes, r.ErrorCode)
	}
	return codes
}

func TestProduceWithoutAnswer(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	broken := values("x")
	broken[20] ^= 1
	for name, c := range map[string]struct {
		parts  []part
		closes bool
	}{
		"sound":                           {[]part{{topic: "orders", records: values("a")}}, false},
		"nothing":                         {nil, false},
		"unknown topic":                   {[]part{{topic: "none", records: values("a")}}, true},
		"broken batch":                    {[]part{{topic: "orders", records: broken}}, true},
		"null records":                    {[]part{{topic: "orders"}}, true},
		"a sound one beside an unknown":   {[]part{{topic: "orders", records: values("b")}, {topic: "orders", partition: 5, records: values("c")}}, true},
		"transactional, no transactional": {[]part{{topic: "orders", records: batch(records.BatchSpec{Transactional: true, HasProducer: true}, record{value: []byte("t")})}}, true},
	} {
		req := produceRequest(c.parts...)
		req.Acks = 0
		answer, r := f.call(context.Background(), generated.KeyProduce, 9, req)
		if answer != nil {
			t.Errorf("%s: answered %+v", name, answer)
		}
		if r.CloseAfterwards != c.closes {
			t.Errorf("%s: closes %v, want %v", name, r.CloseAfterwards, c.closes)
		}
	}
	got := f.contents("orders", 0, 0)
	slices.Sort(got)
	if want := []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("written: %v, want %v", got, want)
	}
}

func TestProducePartitionsStandAlone(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 3)
	broken := values("x")
	broken[20] ^= 1
	rows := f.produceRows(9, produceRequest(
		part{topic: "orders", partition: 0, records: values("p0")},
		part{topic: "orders", partition: 1, records: broken},
		part{topic: "none", records: values("a")},
		part{topic: "orders", partition: 2, records: values("p2")},
		part{topic: "orders", partition: -1, records: values("a")},
	))
	if got, want := produceCodes(rows), []int16{0, 2, 3, 0, 3}; !slices.Equal(got, want) {
		t.Fatalf("codes %v, want %v", got, want)
	}
	for i, r := range rows {
		if (r.ErrorCode == 0) != (r.BaseOffset == 0) || r.ErrorCode != 0 && r.BaseOffset != -1 {
			t.Errorf("row %d: base offset %d with code %d", i, r.BaseOffset, r.ErrorCode)
		}
	}
	for p, want := range [][]string{{"p0"}, nil, {"p2"}} {
		if got := f.contents("orders", int32(p), 0); !slices.Equal(got, want) {
			t.Errorf("partition %d: %v, want %v", p, got, want)
		}
	}
}

func TestProduceTopicIDs(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	old := f.topic("orders", 1)
	f.drop("orders")
	topic := f.topic("orders", 1)
	req := produceRequest(
		part{id: old.ID, records: values("to the old one")},
		part{id: topic.ID, records: values("to the new one")},
		part{id: wire.UUID{1, 2, 3}, records: values("a")},
		part{records: values("a")},
		part{id: topic.ID, partition: 4, records: values("a")},
	)
	if got, want := produceCodes(f.produceRows(13, req)), []int16{100, 0, 100, 100, 3}; !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}
	if got, want := f.contents("orders", 0, 0), []string{"to the new one"}; !slices.Equal(got, want) {
		t.Errorf("the new topic holds %v, want %v", got, want)
	}
}

func TestProduceNeverCreatesTopics(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	for _, name := range []string{"none", "", ".", "..", "a b", "é", strings.Repeat("n", 250)} {
		if got := produceCodes(f.produceRows(9, produceRequest(part{topic: name, records: values("a")}))); !slices.Equal(got, []int16{3}) {
			t.Errorf("%q: %v, want 3", name, got)
		}
		if f.has(name) {
			t.Errorf("%q was created", name)
		}
	}
}

func TestProduceInternalTopics(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	for _, name := range []string{"__consumer_offsets", "__transaction_state"} {
		if got := produceCodes(f.produceRows(9, produceRequest(part{topic: name, records: values("a")}))); !slices.Equal(got, []int16{17}) {
			t.Errorf("%s: %v, want 17", name, got)
		}
	}
}

func TestProduceKeepsTheOrderOfARequest(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	var parts []part
	var want []string
	for i := range 20 {
		parts = append(parts, part{topic: "orders", records: values(fmt.Sprint(i))})
		want = append(want, fmt.Sprint(i))
	}
	for i, r := range f.produceRows(9, produceRequest(parts...)) {
		if r.ErrorCode != 0 || r.BaseOffset != int64(i) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if got := f.contents("orders", 0, 0); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestProduceConcurrently(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		bases = map[int32][]int64{}
	)
	const clients, each = 8, 25
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				rows := f.produceRows(9, produceRequest(
					part{topic: "orders", partition: 0, records: values(fmt.Sprint(c, ".", i))},
					part{topic: "orders", partition: 1, records: values(fmt.Sprint(c, ".", i), "second")},
				))
				mu.Lock()
				for _, r := range rows {
					if r.ErrorCode != 0 {
						t.Errorf("%+v", r)
					}
					bases[r.Index] = append(bases[r.Index], r.BaseOffset)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for p, list := range bases {
		slices.Sort(list)
		for i, base := range list {
			if base != int64(i)*int64(p+1) {
				t.Fatalf("partition %d: base offsets are not contiguous: %v", p, list)
			}
		}
	}
}
