package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"kafka-iggy-bridge/internal/benchmarks/procstat"
)

// broker is what is measured: the bridge in a process of its own, or a broker
// that runs already.
type broker struct {
	address string
	pid     int

	binary string // empty for a broker that runs already
	dir    string
	cmd    *exec.Cmd
	exited chan struct{}
}

func startBroker(ctx context.Context, o *options) (*broker, error) {
	if o.address != "" {
		return &broker{address: o.address, pid: o.pid}, nil
	}
	dir, err := os.MkdirTemp("", "bench-groups-")
	if err != nil {
		return nil, err
	}
	b := &broker{binary: o.binary, dir: dir}
	if b.address, err = freeAddress(); err == nil {
		err = b.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// start starts the bridge on its folder and waits until it says that it serves.
func (b *broker) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, b.binary)
	cmd.Env = append(os.Environ(), "BRIDGE_KAFKA_LISTEN="+b.address, "BRIDGE_EMBEDDED_DATA_DIR="+filepath.Join(b.dir, "data"),
		"BRIDGE_EMBEDDED_FSYNC=never", "BRIDGE_HTTP_LISTEN=", "BRIDGE_LOG_LEVEL=warn")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cmd, b.pid, b.exited = cmd, cmd.Process.Pid, make(chan struct{})
	exited, ready := b.exited, make(chan struct{})
	go func() {
		in := bufio.NewReader(out)
		if _, err := in.ReadString('\n'); err == nil {
			close(ready)
		}
		// How it ended shows in its log.
		_, _ = io.Copy(io.Discard, in)
		_ = cmd.Wait()
		close(exited)
	}()
	select {
	case <-ready:
		return nil
	case <-exited:
		return errors.New("the bridge did not start")
	}
}

// stop ends the process in order.
func (b *broker) stop() {
	// It may have ended by itself; then there is nobody to signal.
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.exited:
	case <-time.After(40 * time.Second):
		_ = b.cmd.Process.Kill()
		<-b.exited
	}
}

// close ends the broker, if it is ours, and removes its data.
func (b *broker) close() {
	if b.binary == "" {
		return
	}
	b.stop()
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// used is what the process has used so far; nothing when it is not known.
func (b *broker) used() (cpu time.Duration, rss int64, err error) {
	if b.pid == 0 {
		return 0, 0, nil
	}
	return procstat.Usage(b.pid)
}

// load is the processor time of an interval as a part of one core, in words.
func (b *broker) load(used, of time.Duration) string {
	if b.pid == 0 {
		return "?"
	}
	return fmt.Sprintf("%.1f", 100*used.Seconds()/of.Seconds())
}

func (b *broker) megabytes(rss int64) string {
	if b.pid == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f", float64(rss)/1e6)
}
