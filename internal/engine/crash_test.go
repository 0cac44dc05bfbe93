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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
	"kafka-iggy-bridge/internal/engine/storage"
)

const (
	// childVariable makes the test binary run an engine on the folder it names.
	childVariable = "ENGINE_CRASH_CHILD"

	// syncVariable is the child's fsync policy.
	syncVariable = "ENGINE_CRASH_FSYNC"

	// roundsVariable sets how often the process is killed.
	roundsVariable = "ENGINE_CRASH_ROUNDS"
)

const (
	childPassword = "crash-test"

	childSegment = 8 << 10

	// shortTopicBytes is the size at which the second topic loses its oldest
	// segments, while it is written to.
	shortTopicBytes = 4 * childSegment
)

// childOptions make everything that a crash can fall into happen often.
func childOptions(dir string) Options {
	return Options{DataDir: dir, RootPassword: childPassword, SegmentBytes: childSegment, compactBytes: 2 << 10,
		RetentionInterval: 3 * time.Millisecond}
}

// runChild serves until the process is killed.
func runChild(dir string) {
	opts := childOptions(dir)
	opts.Fsync = FsyncPolicy(os.Getenv(syncVariable))
	e, err := Open(opts)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(e.Addr())
	select {}
}

// writer keeps what was acknowledged to one client.
type writer struct {
	topic     uint32
	partition uint32
	start     int // first message kept, when last looked
	sent      int // messages acknowledged
	maybe     int // messages sent, acknowledged or not
	offset    int // stored offset acknowledged, -1 for none
	streams   int // streams created and acknowledged
}

// TestKillAtAnyMoment kills the engine's process again and again while clients write,
// store offsets and create streams, while segments are sealed and removed and the
// catalog and the offsets are written anew. Afterwards everything acknowledged must be
// there, once and in order.
func TestKillAtAnyMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeCrashTopics(t, dir)
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = &writer{topic: uint32(i / 3), partition: uint32(i % 3), offset: -1}
	}
	policies := []FsyncPolicy{FsyncNever, FsyncAlways, FsyncNever, FsyncInterval}
	for round := range crashRounds(t) {
		child, address := startChild(t, dir, policies[round%len(policies)])
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
		// The one sleep that is meant: the moment of the kill is to be random.
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
	total, streams := 0, 0
	for _, w := range writers {
		total, streams = total+w.sent, streams+w.streams
	}
	if total == 0 {
		t.Error("nothing was ever acknowledged")
	}
	t.Logf("%d messages and %d streams survived; of the short topic %d messages were removed on purpose", total, streams, writers[3].start)
}

// crashRounds is how many times the process is killed.
func crashRounds(t *testing.T) int {
	t.Helper()
	if text := os.Getenv(roundsVariable); text != "" {
		rounds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", roundsVariable, err)
		}
		return rounds
	}
	if testing.Short() {
		return 5
	}
	return 30
}

// makeCrashTopics creates a topic of three partitions that keeps everything and one of
// a single partition that keeps only its newest segments.
func makeCrashTopics(t *testing.T, dir string) {
	t.Helper()
	e := startEngine(t, childOptions(dir))
	cli := rootClient(t, e)
	makeLimitedTopic(t, cli, time.Hour, 0)
	if err := cli.CreatePartitions(named("s"), named("t"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.CreateTopic(named("s"), "short", 1, 1, 0, shortTopicBytes, nil); err != nil {
		t.Fatal(err)
	}
	stopEngine(t, e)
}

func startChild(t *testing.T, dir string, policy FsyncPolicy) (*exec.Cmd, string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir, syncVariable+"="+string(policy))
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

// send builds the request that appends to the writer's partition.
func (w *writer) send(payloads ...string) []byte {
	b := sendPayload(rawclient.ToPartition(w.partition), payloads...)
	b[4+6+2] = byte(w.topic)
	return b
}

// run works until the connection breaks. An answer other than OK is an error.
func (w *writer) run(address string, id int) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil // killed before it accepted
	}
	defer func() { _ = conn.Close() }()
	do := func(code protocol.Code, payload []byte) (alive bool, err error) {
		if _, err := conn.Write(rawclient.Frame(uint32(code), payload)); err != nil {
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
	alive, err := do(protocol.LoginUser, rawclient.Login(DefaultRootUser, childPassword))
	for step := 0; alive && err == nil; step++ {
		n := rand.IntN(5) + 1
		payloads := make([]string, n)
		for i := range payloads {
			payloads[i] = fmt.Sprintf("%d:%s", w.maybe+i, strings.Repeat("p", rand.IntN(300)))
		}
		w.maybe += n
		if alive, err = do(protocol.SendMessages, w.send(payloads...)); !alive {
			return err
		}
		w.sent = w.maybe
		store := []byte{1, 1, 4, byte(id), 0, 0, 0, 1, 4, 0, 0, 0, 0, 1, 4, byte(w.topic), 0, 0, 0, 1}
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
	opts := childOptions(dir)
	opts.RetentionInterval = time.Hour // what is being looked at stays
	e, err := Open(opts)
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	defer stopEngine(t, e)
	for id, w := range writers {
		topic := e.catalog.streamNames["s"].topics.get(w.topic)
		p := topic.partitions[w.partition]
		next, err := w.verifyLog(p.log)
		if err != nil {
			t.Fatalf("round %d: writer %d: %v", round, id, err)
		}
		if next < w.sent || next > w.maybe {
			t.Errorf("round %d: writer %d: %d messages, %d acknowledged, %d sent", round, id, next, w.sent, w.maybe)
		}
		if w.topic == 0 && w.start > 0 {
			t.Errorf("round %d: writer %d: the first %d messages are gone", round, id, w.start)
		}
		w.sent, w.maybe = next, next
		stored, ok := e.offsets.get(offsetKey{partition: p.uid, consumer: uint64(id)})
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

// verifyLog reads everything: message n of the writer lies at offset n. It returns the
// log's end.
func (w *writer) verifyLog(log *storage.Log) (int, error) {
	start, _ := log.Bounds()
	w.start = int(start)
	for next := w.start; ; {
		chunk, err := log.Read(uint64(next), 1000, 1<<20)
		if err != nil {
			return next, err
		}
		if chunk.Count == 0 {
			if _, end := log.Bounds(); int(end) != next {
				return next, fmt.Errorf("reading ends at %d, the log at %d", next, end)
			}
			return next, nil
		}
		for b := chunk.Bytes(); len(b) > 0; next++ {
			size := 64 + int(binary.LittleEndian.Uint32(b[52:]))
			var number int
			if _, err := fmt.Sscanf(string(b[64:size]), "%d:", &number); err != nil || number != next || binary.LittleEndian.Uint64(b[24:]) != uint64(next) {
				return next, fmt.Errorf("offset %d holds %.20q", next, b[64:size])
			}
			b = b[size:]
		}
		chunk.Release()
	}
}
