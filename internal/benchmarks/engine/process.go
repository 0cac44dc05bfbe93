package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"kafka-iggy-bridge/internal/benchmarks/procstat"
)

const (
	user     = "iggy"
	password = "iggy-for-benchmarks"
)

// process is a running engine.
type process struct {
	address string
	dir     string // its data; removed by stop unless it was given
	given   bool
	ready   time.Duration // from its start until it said that it serves
	cmd     *exec.Cmd
	exited  chan struct{}
}

// startEngine runs the engine on a folder, or on a new one when none is given.
func startEngine(ctx context.Context, binary, dir string, flags ...string) (*process, error) {
	p := &process{dir: dir, given: dir != "", exited: make(chan struct{})}
	if !p.given {
		parent, err := os.MkdirTemp("", "bench-engine-")
		if err != nil {
			return nil, err
		}
		p.dir = parent
	}
	args := append([]string{"engine", "--embedded.data_dir=" + filepath.Join(p.dir, "data"), "--embedded.fsync=never", "--log.level=warn"}, flags...)
	p.cmd = exec.CommandContext(ctx, binary, args...)
	p.cmd.Env = append(os.Environ(), "BRIDGE_IGGY_USERNAME="+user, "BRIDGE_IGGY_PASSWORD="+password)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	said := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			said <- lines.Text()
		}
		// How it ended shows in its log.
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	select {
	case line := <-said:
		p.ready = time.Since(began)
		_, rest, ok := strings.Cut(line, "Iggy clients: ")
		if !ok {
			p.stop()
			return nil, fmt.Errorf("the engine said %q", line)
		}
		p.address, _, _ = strings.Cut(rest, " ")
		return p, nil
	case <-p.exited:
		return nil, errors.Join(errors.New("the engine did not start"), p.remove())
	}
}

func (p *process) stop() {
	p.end()
	if err := p.remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// end ends the process and keeps its folder.
func (p *process) end() {
	// It may have ended by itself; then there is nobody to signal.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

func (p *process) remove() error {
	if p.given {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// usage is the processor time and the resident memory so far.
func (p *process) usage() (cpu time.Duration, rss int64, err error) {
	return procstat.Usage(p.cmd.Process.Pid)
}

// openFiles is how many files the process has open.
func (p *process) openFiles() (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(all), err
}
