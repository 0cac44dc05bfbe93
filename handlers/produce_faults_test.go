package handlers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/engine/storage"
	"kafka-iggy-bridge/internal/errorcode"
)

var errDiskFull = errors.New("no space left on device")

// gate makes writes to the engine's segment files wait while it is closed.
type gate struct {
	mu     sync.Mutex
	open   chan struct{} // closed while writes may pass
	waits  chan struct{} // receives when a write waits
	failed error         // what writes return while the gate is open
}

func newGate() *gate {
	g := &gate{open: make(chan struct{}), waits: make(chan struct{}, 64)}
	close(g.open)
	return g
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = err
}

func (g *gate) pass() error {
	g.mu.Lock()
	open, err := g.open, g.failed
	g.mu.Unlock()
	select {
	case <-open:
		return err
	default:
	}
	g.waits <- struct{}{}
	<-open
	return nil
}

type gatedFile struct {
	storage.File
	gate *gate
}

func (f gatedFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.gate.pass(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (g *gate) openFile(path string) (storage.File, error) {
	f, err := storage.OpenOSFile(path)
	if err != nil {
		return nil, err
	}
	return gatedFile{f, g}, nil
}

// A batch behind others that do not get on is withdrawn when the request's
// timeout is over; it must not be written later, when its producer has sent it
// again.
func TestProduceTimeout(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newDataOn(t, g.openFile, nil)
	f.topic("orders", 1)
	f.mustProduce("orders", 0, values("before"))
	g.close()
	first := make(chan []int16, 1)
	go func() {
		first <- produceCodes(f.produceRows(9, produceRequest(part{topic: "orders", records: values("stuck")})))
	}()
	<-g.waits
	req := produceRequest(part{topic: "orders", records: values("withdrawn")})
	req.TimeoutMs = 1
	if got, want := produceCodes(f.produceRows(9, req)), bridge.ErrorCode(context.DeadlineExceeded); !slices.Equal(got, []int16{want}) {
		t.Errorf("behind a stuck one: %v, want %d", got, want)
	}
	g.release()
	if got := <-first; !slices.Equal(got, []int16{0}) {
		t.Errorf("the stuck one: %v", got)
	}
	f.mustProduce("orders", 0, values("after"))
	if got, want := f.contents("orders", 0, 0), []string{"before", "stuck", "after"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A Fetch that waits must not hold up anybody else.
func TestProduceBesideAWaitingFetch(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	f.topic("empty", 1)
	req := fetchRequest(part{topic: "empty"})
	req.MaxWaitMs = hour
	w := f.wait(t, 12, req)
	f.mustProduce("orders", 0, values("beside a waiting fetch"))
	w.open(t)
	f.mustProduce("empty", 0, values("a"))
	w.rows(t)
}

// A disk that is full is a fault that passes.
func TestProduceToAFullDisk(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newDataOn(t, g.openFile, nil)
	f.topic("orders", 1)
	f.mustProduce("orders", 0, values("before"))
	g.fail(errDiskFull)
	r := f.produceRows(9, produceRequest(part{topic: "orders", records: values("lost")}))[0]
	if !slices.Contains([]int16{5, 6, 7, 56}, r.ErrorCode) || r.BaseOffset != -1 {
		t.Errorf("%+v", r)
	}
	g.fail(nil)
	f.mustProduce("orders", 0, values("after"))
	if got, want := f.contents("orders", 0, 0), []string{"before", "after"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The frame belongs to the server again when the handler returns, so what was
// submitted must be done by then, also when the context is over at once.
func TestProduceOfADeadRequest(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cancel()
	answer, _ := f.call(ctx, generated.KeyProduce, 9, produceRequest(part{topic: "orders", records: values("a")}, part{topic: "orders", partition: 1, records: values("b")}))
	for _, topic := range answer.(*generated.ProduceResponse).Responses {
		for _, r := range topic.PartitionResponses {
			written := len(f.contents("orders", r.Index, 0)) > 0
			if (r.ErrorCode == errorcode.None) != written {
				t.Errorf("partition %d: code %d, written %v", r.Index, r.ErrorCode, written)
			}
		}
	}
}
