package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Credentials of the embedded engine under test.
const (
	iggyUser     = "iggy"
	iggyPassword = "iggy-for-tests"
)

// startTime bounds a start, endTime an orderly end, of the binary under test.
const (
	startTime = 60 * time.Second
	endTime   = 40 * time.Second
)

// broker is the binary under test with a data folder of its own. It can be
// stopped or killed and started again on the same addresses.
type broker struct {
	t    *testing.T
	dir  string
	addr string // Kafka
	iggy string // the embedded engine
	env  []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	stderr *tail
}

// start runs a bridge on its embedded engine until the test ends. env are
// further settings such as "BRIDGE_TOPICS_AUTO_CREATE=false".
func start(t *testing.T, env ...string) *broker {
	t.Helper()
	b := &broker{t: t, dir: t.TempDir(), addr: freeAddress(t), iggy: freeAddress(t), env: env}
	b.run()
	t.Cleanup(func() {
		b.mu.Lock()
		running := b.cmd != nil
		b.mu.Unlock()
		if running {
			b.stop()
		}
	})
	return b
}

// freeAddress is a loopback address that was free a moment ago, for servers that
// must come back to where they were.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var readyLine = regexp.MustCompile(`bootstrap\.servers=(\S+)`)

// run starts the process and waits until it says where it can be reached.
func (b *broker) run() {
	b.t.Helper()
	cmd := exec.Command(filepath.Join(binaries, "kafka-iggy-bridge"))
	cmd.Env = append(os.Environ(),
		"BRIDGE_KAFKA_LISTEN="+b.addr,
		"BRIDGE_EMBEDDED_DATA_DIR="+filepath.Join(b.dir, "data"),
		"BRIDGE_EMBEDDED_LISTEN="+b.iggy,
		"BRIDGE_IGGY_USERNAME="+iggyUser,
		"BRIDGE_IGGY_PASSWORD="+iggyPassword,
		"BRIDGE_HTTP_LISTEN=",
		"GORACE=halt_on_error=1 exitcode=66",
	)
	cmd.Env = append(cmd.Env, b.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	logs := &tail{limit: 64 << 10}
	cmd.Stderr = logs
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	exited := make(chan struct{})
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if readyLine.MatchString(lines.Text()) {
				ready <- true
			}
		}
		// The process is waited for once its output is read to the end.
		_ = cmd.Wait()
		close(exited)
	}()
	b.mu.Lock()
	b.cmd, b.exited, b.stderr = cmd, exited, logs
	b.mu.Unlock()
	select {
	case <-ready:
	case <-exited:
		b.t.Fatalf("the bridge ended at once (%s):\n%s", cmd.ProcessState, logs)
	case <-time.After(startTime):
		_ = cmd.Process.Kill()
		b.t.Fatalf("the bridge did not start in %s:\n%s", startTime, logs)
	}
}

// stop ends the process with SIGTERM and expects it to succeed.
func (b *broker) stop() {
	b.t.Helper()
	cmd := b.signal(syscall.SIGTERM)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		b.t.Errorf("the bridge ended with status %d:\n%s", code, b.stderr)
	}
}

// kill ends the process with SIGKILL.
func (b *broker) kill() {
	b.t.Helper()
	b.signal(syscall.SIGKILL)
}

func (b *broker) signal(s os.Signal) *exec.Cmd {
	b.t.Helper()
	b.mu.Lock()
	cmd, exited := b.cmd, b.exited
	b.cmd = nil
	b.mu.Unlock()
	if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		b.t.Fatal(err)
	}
	select {
	case <-exited:
	case <-time.After(endTime):
		_ = cmd.Process.Kill()
		b.t.Fatalf("the bridge did not end within %s of %s:\n%s", endTime, s, b.stderr)
	}
	return cmd
}

// alive fails the test if the process has ended by itself.
func (b *broker) alive() {
	b.t.Helper()
	select {
	case <-b.exited:
		b.t.Fatalf("the bridge ended by itself (%s):\n%s", b.cmd.ProcessState, b.stderr)
	default:
	}
}

// restart stops the process and starts it on the same data.
func (b *broker) restart() {
	b.t.Helper()
	b.stop()
	b.run()
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	mu    sync.Mutex
	buf   bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if extra := t.buf.Len() - t.limit; extra > 0 {
		t.buf.Next(extra)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.buf.String())
}

var _ io.Writer = (*tail)(nil)

// within returns a context for one step of a test.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
