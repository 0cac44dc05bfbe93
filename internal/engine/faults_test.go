package engine

import (
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
	"kafka-iggy-bridge/internal/engine/storage"
)

// fullDisk is a file system that can run out of room.
type fullDisk struct{ full atomic.Bool }

func (d *fullDisk) open(path string) (storage.File, error) {
	f, err := storage.OpenOSFile(path)
	if err != nil {
		return nil, err
	}
	return &fullFile{File: f, disk: d}, nil
}

type fullFile struct {
	storage.File
	disk *fullDisk
}

func (f *fullFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.disk.full.Load() {
		return f.File.WriteAt(p, off)
	}
	n, err := f.File.WriteAt(p[:len(p)/2], off)
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk, dir := &fullDisk{}, t.TempDir()
	e := startEngine(t, Options{DataDir: dir, OpenFile: disk.open})
	cli := rootClient(t, e)
	makeTopic(t, cli, 1)
	send(t, cli, 0, "before")
	disk.full.Store(true)
	c := dialRawRoot(t, e)
	for range 3 {
		if status, _ := c.Do(101, sendPayload(rawclient.ToPartition(0), "does not fit")); status != uint32(protocol.ErrCannotAppend) {
			t.Errorf("send to a full disk: status %d", status)
		}
		if got := payloads(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10)); !slices.Equal(got, []string{"before"}) {
			t.Errorf("reading from a full disk: %q", got)
		}
	}
	disk.full.Store(false)
	send(t, cli, 0, "after")
	stopEngine(t, e)
	cli = rootClient(t, startEngine(t, Options{DataDir: dir}))
	if got := payloads(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10)); !slices.Equal(got, []string{"before", "after"}) {
		t.Errorf("after a restart: %q", got)
	}
}

// TestForgottenRootPassword starts without the password that was configured before.
func TestForgottenRootPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopEngine(t, startEngine(t, Options{DataDir: dir, RootUser: "admin", RootPassword: "configured"}))
	e := startEngine(t, Options{DataDir: dir})
	if user, password := e.Credentials(); user != "admin" || password != "" {
		t.Errorf("credentials %q, %q", user, password)
	}
	if _, err := dial(t, e).LoginUser("admin", "configured"); err != nil {
		t.Errorf("the old password: %v", err)
	}
}
