package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the waits of these tests.
const patience = 30 * time.Second

// output collects what a bridge logs.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// running is a bridge in this process.
type running struct {
	t       *testing.T
	line    string // what it printed when it was ready
	log     *output
	signals chan os.Signal
	exit    chan int
}

// startBridge starts a bridge on free ports and waits for its line.
func startBridge(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, log: &output{}, signals: make(chan os.Signal, 2), exit: make(chan int, 1)}
	reader, stdout := io.Pipe()
	args = append([]string{"--kafka.listen=127.0.0.1:0", "--http.listen="}, args...)
	go func() {
		r.exit <- run(args, stdout, r.log, r.signals)
		stdout.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatalf("no line printed: %v, exit %d, log:\n%s", err, <-r.exit, r.log)
	}
	r.line = line
	return r
}

// end sends SIGTERM and waits.
func (r *running) end() {
	r.t.Helper()
	r.signals <- syscall.SIGTERM
	select {
	case code := <-r.exit:
		if code != exitOK {
			r.t.Fatalf("exit %d, log:\n%s", code, r.log)
		}
	case <-time.After(patience):
		r.t.Fatalf("does not end, log:\n%s", r.log)
	}
}

// address is the bootstrap server in the printed line.
func (r *running) address() string {
	_, rest, _ := strings.Cut(r.line, "bootstrap.servers=")
	address, _, _ := strings.Cut(rest, " ")
	return address
}

// apiVersions asks for ApiVersions v0 and returns the answer's error code.
func apiVersions(t *testing.T, address string) int16 {
	t.Helper()
	nc, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	request := []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff}
	if _, err := nc.Write(request); err != nil {
		t.Fatal(err)
	}
	var head [10]byte
	if _, err := io.ReadFull(nc, head[:]); err != nil {
		t.Fatal(err)
	}
	if correlation := binary.BigEndian.Uint32(head[4:]); correlation != 7 {
		t.Fatalf("answer to %d", correlation)
	}
	return int16(binary.BigEndian.Uint16(head[8:]))
}

func TestABridgeOnItsEmbeddedEngine(t *testing.T) {
	dir := t.TempDir()
	r := startBridge(t, "--embedded.data_dir="+dir)
	if !strings.HasPrefix(r.line, "kafka-iggy-bridge: Kafka clients: bootstrap.servers=127.0.0.1:") ||
		!strings.HasSuffix(r.line, "storage: embedded engine in "+dir+"\n") {
		t.Errorf("line %q", r.line)
	}
	if code := apiVersions(t, r.address()); code != 0 {
		t.Errorf("ApiVersions: error %d", code)
	}
	second := &output{}
	if code := run([]string{"--kafka.listen=127.0.0.1:0", "--http.listen=", "--embedded.data_dir=" + dir}, io.Discard, second, r.signals); code != exitFailed ||
		!strings.Contains(second.String(), dir) {
		t.Errorf("a second bridge on the same folder: exit %d, %s", code, second)
	}
	r.end()
	again := startBridge(t, "--embedded.data_dir="+dir) // the folder is free again
	again.end()
}

func TestAnAddressInUseNamesItsKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, key := range []string{"kafka.listen", "http.listen"} {
		var errs output
		args := []string{"--kafka.listen=127.0.0.1:0", "--http.listen=", "--embedded.data_dir=" + t.TempDir(), "--" + key + "=" + l.Addr().String()}
		if code := run(args, io.Discard, &errs, nil); code != exitFailed || !strings.Contains(errs.String(), "has failed: "+key) {
			t.Errorf("%s: exit %d, %s", key, code, errs.String())
		}
	}
}

func TestABridgeAnswersWhileIggyIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := l.Addr().String()
	if err := l.Close(); err != nil { // nobody listens there now
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	health := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	r := startBridge(t, "--iggy.address="+away, "--iggy.password=iggy", "--http.listen="+health)
	if !strings.HasSuffix(r.line, "storage: Iggy at "+away+"\n") {
		t.Errorf("line %q", r.line)
	}
	if code := apiVersions(t, r.address()); code != 0 {
		t.Errorf("ApiVersions: error %d", code)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get("http://" + health + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || len(body) == 0 {
		t.Errorf("/readyz: %d %q %v", resp.StatusCode, body, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	r.end()
}
