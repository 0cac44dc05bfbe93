package handlers

import (
	"context"
	"math"
	"sync"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

func TestOffsetForLeaderEpoch(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2, "retention.ms", "3600000")
	f.mustProduce("orders", 0, values("a", "b"))
	f.expire()
	f.mustProduce("orders", 0, values("c"))
	f.await(func() bool {
		return f.offsetRows(7, offsetRequest(0, offsetPart{"orders", 0, -2, -1}))[0].Offset == 2
	})
	for _, c := range []struct {
		name           string
		topic          string
		partition      int32
		current, epoch int32
		code           int16
		wantEpoch      int32
		wantEnd        int64
	}{
		{"the one epoch", "orders", 0, -1, 0, 0, 0, 3},
		{"of an empty log", "orders", 1, -1, 0, 0, 0, 0},
		{"no epoch", "orders", 0, -1, -1, 0, -1, -1},
		{"one to come", "orders", 0, -1, 1, 0, -1, -1},
		{"the last that can be", "orders", 0, -1, math.MaxInt32, 0, -1, -1},
		{"below the first", "orders", 0, -1, -2, 0, -2, 2},
		{"below the first of an empty log", "orders", 1, -1, -2, 0, -2, 0},
		{"the current epoch named", "orders", 0, 0, 0, 0, 0, 3},
		{"a current epoch to come", "orders", 0, 1, 0, 75, -1, -1},
		{"a current epoch that is over", "orders", 0, -3, 0, 74, -1, -1},
		{"an unknown partition", "orders", 2, -1, 0, 3, -1, -1},
		{"an unknown partition and a wrong epoch", "orders", 2, 5, 0, 3, -1, -1},
		{"an unknown topic", "none", 0, -1, 0, 3, -1, -1},
	} {
		for v := int16(2); v <= 4; v++ {
			for _, replica := range []int32{-1, -2, 5} {
				req := generated.DefaultOffsetForLeaderEpochRequest()
				req.ReplicaId = replica
				topic := generated.DefaultOffsetForLeaderEpochRequestOffsetForLeaderTopic()
				topic.Topic = c.topic
				p := generated.DefaultOffsetForLeaderEpochRequestOffsetForLeaderPartition()
				p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = c.partition, c.current, c.epoch
				topic.Partitions = append(topic.Partitions, p, p)
				req.Topics = append(req.Topics, topic)
				answer, _ := f.call(context.Background(), generated.KeyOffsetForLeaderEpoch, v, &req)
				for _, r := range answer.(*generated.OffsetForLeaderEpochResponse).Topics[0].Partitions {
					if r.Partition != c.partition || r.ErrorCode != c.code || r.LeaderEpoch != c.wantEpoch || r.EndOffset != c.wantEnd {
						t.Errorf("%s, v%d, replica %d: %+v", c.name, v, replica, r)
					}
				}
			}
		}
	}
}

func TestInitProducerID(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	seen := map[int64]bool{}
	null, empty := wire.NullString{}, wire.String("")
	for _, c := range []struct {
		name    string
		id      wire.NullString
		timeout int32
		pid     int64
		epoch   int16
		want    int16
	}{
		{"a new producer", null, 60000, -1, -1, 0},
		{"any timeout", null, 0, -1, -1, 0},
		{"a negative timeout", null, -5, -1, -1, 0},
		{"a producer that has an id", null, 60000, 5, 3, 0},
		{"at the last epoch", null, 60000, 5, 32767, 0},
		{"an impossible id", null, 60000, -2, -2, 0},
		{"an id without an epoch", null, 60000, 5, -1, 42},
		{"an epoch without an id", null, 60000, -1, 3, 42},
		{"an empty transactional id", empty, 60000, -1, -1, 42},
	} {
		for v := int16(0); v <= 5; v++ {
			if v < 3 && (c.pid != -1 || c.epoch != -1) {
				continue
			}
			req := generated.DefaultInitProducerIdRequest()
			req.TransactionalId, req.TransactionTimeoutMs, req.ProducerId, req.ProducerEpoch = c.id, c.timeout, c.pid, c.epoch
			answer, _ := f.call(context.Background(), generated.KeyInitProducerId, v, &req)
			r := answer.(*generated.InitProducerIdResponse)
			switch {
			case r.ErrorCode != c.want:
				t.Errorf("%s, v%d: %+v, want %d", c.name, v, r, c.want)
			case c.want != 0 && (r.ProducerId != -1 || r.ProducerEpoch != -1):
				t.Errorf("%s, v%d: %+v", c.name, v, r)
			case c.want == 0 && (r.ProducerId < 0 || r.ProducerEpoch != 0 || seen[r.ProducerId]):
				t.Errorf("%s, v%d: %+v", c.name, v, r)
			}
			seen[r.ProducerId] = true
		}
	}
}

func TestInitProducerIDConcurrently(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	const clients, each = 8, 200
	ids := make(chan int64, clients*each)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				req := generated.DefaultInitProducerIdRequest()
				req.TransactionalId = wire.NullString{}
				answer, _ := f.call(context.Background(), generated.KeyInitProducerId, 4, &req)
				ids <- answer.(*generated.InitProducerIdResponse).ProducerId
			}
		})
	}
	wg.Wait()
	close(ids)
	seen := map[int64]bool{}
	for id := range ids {
		if id < 0 || seen[id] {
			t.Fatalf("id %d was handed out twice or is none", id)
		}
		seen[id] = true
	}
}
