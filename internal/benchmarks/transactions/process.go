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

const (
	iggyUser     = "iggy"
	iggyPassword = "iggy-for-benchmarks"

	// stopTime is how long the bridge has to end in order.
	stopTime = 40 * time.Second
)

// bridge is the bridge under measurement, in a process of its own.
type bridge struct {
	binary, dir string
	kafka, iggy string // addresses, the same after each start
	cmd         *exec.Cmd
	exited      chan struct{}
}

func startBridge(ctx context.Context, binary string) (*bridge, error) {
	dir, err := os.MkdirTemp("", "bench-txn-")
	if err != nil {
		return nil, err
	}
	b := &bridge{binary: binary, dir: dir}
	if b.kafka, err = freeAddress(); err == nil {
		b.iggy, err = freeAddress()
	}
	if err == nil {
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
func (b *bridge) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, b.binary)
	cmd.Env = append(os.Environ(), "BRIDGE_KAFKA_LISTEN="+b.kafka, "BRIDGE_EMBEDDED_LISTEN="+b.iggy,
		"BRIDGE_EMBEDDED_DATA_DIR="+filepath.Join(b.dir, "data"), "BRIDGE_EMBEDDED_FSYNC=never", "BRIDGE_HTTP_LISTEN=",
		"BRIDGE_IGGY_USERNAME="+iggyUser, "BRIDGE_IGGY_PASSWORD="+iggyPassword, "BRIDGE_LOG_LEVEL=warn")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cmd, b.exited = cmd, make(chan struct{})
	exited, ready := b.exited, make(chan struct{})
	go func() {
		defer close(exited)
		in := bufio.NewReader(out)
		if _, err := in.ReadString('\n'); err == nil {
			close(ready)
		}
		// How it ended shows in its log.
		_, _ = io.Copy(io.Discard, in)
		_ = cmd.Wait()
	}()
	select {
	case <-ready:
		return nil
	case <-exited:
		return errors.New("the bridge did not start")
	}
}

// killAndStart ends the process as kill -9 does, and starts it anew.
func (b *bridge) killAndStart(ctx context.Context) error {
	if err := b.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the bridge: %w", err)
	}
	<-b.exited
	return b.start(ctx)
}

// close ends the process in order and removes its data.
func (b *bridge) close() {
	// It may have ended by itself; then there is nobody to signal.
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.exited:
	case <-time.After(stopTime):
		_ = b.cmd.Process.Kill()
		<-b.exited
	}
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// cpu is the processor time that the process has used so far.
func (b *bridge) cpu() (time.Duration, error) {
	used, _, err := procstat.Usage(b.cmd.Process.Pid)
	return used, err
}
