package engine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine/protocol"
)

// childVariable makes the test binary run an engine on the folder it names.
const childVariable = "ENGINE_CRASH_CHILD"

const childPassword = "crash-test"

// childOptions make everything that a crash can fall into happen often.
func childOptions(dir string) Options {
	return Options{DataDir: dir, RootPassword: childPassword, SegmentBytes: 8 << 10, compactBytes: 2 << 10,
		RetentionInterval: 3 * time.Millisecond}
}

// runChild serves until the process is killed.
func runChild(dir string) {
	e, err := Open(childOptions(dir))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(e.Addr())
	select {}
}

// writer keeps what was acknowledged to one client.
type writer struct {
	partition uint32
	sent      int // messages acknowledged
	maybe     int // messages sent, acknowledged or not
	offset    int // stored offset acknowledged, -1 for none
	streams   int // streams created and acknowledged
}

// TestKillAtAnyMoment kills the engine's process again and again while clients write,
// store offsets and create streams. Afterwards everything acknowledged must be there,
// once and in order.
func TestKillAtAnyMoment(t *testing.T) {
	t.Parallel()
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	dir := t.TempDir()
	e := startEngine(t, childOptions(dir))
	makeLimitedTopic(t, rootClient(t, e), time.Hour, 0)
	if err := rootClient(t, e).CreatePartitions(named("s"), named("t"), 1); err != nil {
		t.Fatal(err)
	}
	stopEngine(t, e)
	writers := make([]*writer, 3)
	for i := range writers {
		writers[i] = &writer{partition: uint32(i), offset: -1}
	}
	for round := range rounds {
		child, address := startChild(t, dir)
		var running sync.WaitGroup
		for i, w := range writers {
			running.Add(1)
			go func() {
				defer running.Done()
				if err := w.run(address, i); err != nil {
					t.Errorf("round %d: writer %d: %v", round, i, err)
				}
			}()
		}
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		running.Wait()
		_ = child.Wait() // says that it was killed
		verifyWriters(t, dir, writers, round)
		if t.Failed() {
			return
		}
	}
	total := 0
	for _, w := range writers {
		total += w.sent
	}
	if total == 0 {
		t.Error("nothing was ever acknowledged")
	}
}

func startChild(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error:") {
		_ = child.Process.Kill()
		t.Fatalf("child: %s %v", line, err)
	}
	return child, strings.TrimSpace(line)
}

// run works until the connection breaks. An answer other than OK is an error.
func (w *writer) run(address string, id int) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil // killed before it accepted
	}
	defer func() { _ = conn.Close() }()
	do := func(code protocol.Code, payload []byte) (alive bool, err error) {
		if _, err := conn.Write(frame(uint32(code), payload)); err != nil {
			return false, nil
		}
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return false, nil
		}
		if status := binary.LittleEndian.Uint32(head[:]); status != 0 {
			return false, fmt.Errorf("command %d: status %d", code, status)
		}
		_, err = io.CopyN(io.Discard, conn, int64(binary.LittleEndian.Uint32(head[4:])))
		return err == nil, nil
	}
	alive, err := do(protocol.LoginUser, login(DefaultRootUser, childPassword))
	for step := 0; alive && err == nil; step++ {
		n := rand.IntN(5) + 1
		payloads := make([]string, n)
		for i := range payloads {
			payloads[i] = fmt.Sprintf("%d:%s", w.maybe+i, strings.Repeat("p", rand.IntN(300)))
		}
		w.maybe += n
		if alive, err = do(protocol.SendMessages, sendPayload(toPartition(w.partition), payloads...)); !alive {
			return err
		}
		w.sent = w.maybe
		store := []byte{1, 1, 4, byte(id), 0, 0, 0, 1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 1}
		store = protocol.AppendU64(protocol.AppendU32(store, w.partition), uint64(w.sent-1))
		if alive, err = do(protocol.StoreConsumerOffset, store); !alive {
			return err
		}
		w.offset = w.sent - 1
		if step%10 == 0 {
			name := fmt.Sprintf("w%d-%d", id, w.streams)
			alive, err = do(protocol.CreateStream, append([]byte{byte(len(name))}, name...))
			var status protocol.Status
			if errors.As(err, &status) {
				return err
			}
			if alive {
				w.streams++
			}
		}
	}
	return err
}

// verifyWriters opens the folder and compares it with what was acknowledged. What was
// sent but not acknowledged may be there or not; the writers go on from what is.
func verifyWriters(t *testing.T, dir string, writers []*writer, round int) {
	t.Helper()
	e, err := Open(childOptions(dir))
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	defer stopEngine(t, e)
	topic := e.catalog.streamNames["s"].topicNames["t"]
	for id, w := range writers {
		log := topic.partitions[w.partition].log
		next := 0
		for {
			chunk, err := log.Read(uint64(next), 1000, 1<<20)
			if err != nil {
				t.Fatalf("round %d: read: %v", round, err)
			}
			if chunk.Count == 0 {
				break
			}
			for b := chunk.Bytes(); len(b) > 0; next++ {
				size := 64 + int(binary.LittleEndian.Uint32(b[52:]))
				var number int
				if _, err := fmt.Sscanf(string(b[64:size]), "%d:", &number); err != nil || number != next || binary.LittleEndian.Uint64(b[24:]) != uint64(next) {
					t.Fatalf("round %d: writer %d: offset %d holds %.20q", round, id, next, b[64:size])
				}
				b = b[size:]
			}
			chunk.Release()
		}
		if next < w.sent || next > w.maybe {
			t.Errorf("round %d: writer %d: %d messages, %d acknowledged, %d sent", round, id, next, w.sent, w.maybe)
		}
		w.sent, w.maybe = next, next
		stored, ok := e.offsets.get(offsetKey{partition: topic.partitions[w.partition].uid, consumer: uint64(id)})
		if w.offset >= 0 && (!ok || int(stored) < w.offset) {
			t.Errorf("round %d: writer %d: stored offset %d, %v, acknowledged %d", round, id, stored, ok, w.offset)
		}
		for i := range w.streams {
			if e.catalog.streamNames[fmt.Sprintf("w%d-%d", id, i)] == nil {
				t.Errorf("round %d: stream w%d-%d is gone", round, id, i)
			}
		}
		for e.catalog.streamNames[fmt.Sprintf("w%d-%d", id, w.streams)] != nil {
			w.streams++ // created, but the answer never arrived
		}
	}
}
