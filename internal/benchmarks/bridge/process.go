package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"kafka-iggy-bridge/internal/benchmarks/procstat"
)

const (
	iggyUser     = "iggy"
	iggyPassword = "iggy-for-benchmarks"
)

// process is the bridge under measurement.
type process struct {
	kafka, iggy string
	cmd         *exec.Cmd
	dir         string
	exited      chan struct{}
}

func startProcess(ctx context.Context, binary string) (*process, error) {
	dir, err := os.MkdirTemp("", "bench-bridge-")
	if err != nil {
		return nil, err
	}
	kafka, iggy := freeAddress(), freeAddress()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), "BRIDGE_KAFKA_LISTEN="+kafka, "BRIDGE_EMBEDDED_LISTEN="+iggy,
		"BRIDGE_EMBEDDED_DATA_DIR="+filepath.Join(dir, "data"), "BRIDGE_EMBEDDED_FSYNC=never", "BRIDGE_HTTP_LISTEN=",
		"BRIDGE_IGGY_USERNAME="+iggyUser, "BRIDGE_IGGY_PASSWORD="+iggyPassword, "BRIDGE_LOG_LEVEL=warn")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &process{kafka: kafka, iggy: iggy, cmd: cmd, dir: dir, exited: make(chan struct{})}
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			ready <- true
		}
		// How it ended shows in its log.
		_ = cmd.Wait()
		close(p.exited)
	}()
	select {
	case <-ready:
		return p, nil
	case <-p.exited:
		return nil, errors.New("the bridge did not start")
	}
}

func (p *process) stop() {
	// It may have ended by itself; then there is nobody to signal.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(40 * time.Second):
		_ = p.cmd.Process.Kill()
	}
	if err := os.RemoveAll(p.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// usage is the processor time and the resident memory so far.
func (p *process) usage() (cpu time.Duration, rss int64, err error) {
	return procstat.Usage(p.cmd.Process.Pid)
}
