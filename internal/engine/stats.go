package engine

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// The Iggy version this server answers like: text, and as major, minor and patch with
// three decimal digits each.
const (
	serverVersion = "0.8.0"
	serverSemver  = 8000
)

// usage remembers the processor times of the last look, from which shares are told.
type usage struct {
	mu      sync.Mutex
	at      time.Time
	process float64 // seconds
	busy    float64 // all processors, clock ticks
	total   float64
}

// shares returns the process's and the machine's processor use since the last call, in
// percent: the first of one processor, the second of all.
func (u *usage) shares(now time.Time) (process, machine float32) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0
	}
	spent := float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
	busy, total := machineTicks()
	u.mu.Lock()
	defer u.mu.Unlock()
	if elapsed := now.Sub(u.at).Seconds(); !u.at.IsZero() && elapsed > 0 {
		process = float32(100 * (spent - u.process) / elapsed)
	}
	if total > u.total && u.total > 0 {
		machine = float32(100 * (busy - u.busy) / (total - u.total))
	}
	u.at, u.process, u.busy, u.total = now, spent, busy, total
	return process, machine
}

// machineTicks reads the processors' busy and total times.
func machineTicks() (busy, total float64) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	for i, f := range strings.Fields(string(line)) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			continue // the line's name
		}
		total += v
		if i != 4 && i != 5 { // idle and waiting for disks
			busy += v
		}
	}
	return busy, total
}

// procValues reads the numbers of a /proc file made of "name: value" lines.
func procValues(path string) map[string]uint64 {
	values := make(map[string]uint64)
	b, err := os.ReadFile(path)
	if err != nil {
		return values
	}
	for scan := bufio.NewScanner(bytes.NewReader(b)); scan.Scan(); {
		name, rest, ok := strings.Cut(scan.Text(), ":")
		fields := strings.Fields(rest)
		if !ok || len(fields) == 0 {
			continue
		}
		v, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			continue
		}
		if len(fields) > 1 && fields[1] == "kB" {
			v <<= 10
		}
		values[name] = v
	}
	return values
}

// osName returns the operating system's name and version.
func osName() (name, version string) {
	name = runtime.GOOS
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return name, name
	}
	for scan := bufio.NewScanner(bytes.NewReader(b)); scan.Scan(); {
		key, value, _ := strings.Cut(scan.Text(), "=")
		value = strings.Trim(value, `"`)
		switch key {
		case "NAME":
			name = value
		case "VERSION_ID":
			version = value
		}
	}
	return name, strings.TrimSpace("Linux (" + name + " " + version + ")")
}

// totals counts what the catalog holds.
type totals struct {
	bytes, messages                               uint64
	streams, topics, partitions, segments, groups uint32
}

func (e *Engine) totals() totals {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := totals{streams: uint32(e.catalog.streams.used)}
	for topic := range e.catalog.allTopics() {
		t.topics++
		t.groups += uint32(topic.groups.used)
		t.partitions += uint32(len(topic.partitions))
		for _, p := range topic.partitions {
			st := p.log.Stats()
			t.bytes += st.Bytes
			t.messages += messages(st)
			t.segments += uint32(st.Segments)
		}
	}
	return t
}

func (c *conn) getStats(r *protocol.Reader) error {
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ReadServer); err != nil {
		return err
	}
	now := c.e.opts.Clock()
	process, machine := c.e.usage.shares(time.Now())
	memory, status, io := procValues("/proc/meminfo"), procValues("/proc/self/status"), procValues("/proc/self/io")
	t := c.e.totals()

	out := protocol.AppendU32(c.out, uint32(os.Getpid()))
	out = protocol.AppendF32(out, process)
	out = protocol.AppendF32(out, machine)
	out = protocol.AppendU64(out, status["VmRSS"])
	out = protocol.AppendU64(out, memory["MemTotal"])
	out = protocol.AppendU64(out, memory["MemAvailable"])
	out = protocol.AppendU64(out, uint64(max(0, now.Sub(c.e.started).Microseconds())))
	out = protocol.AppendU64(out, uint64(c.e.started.UnixMicro()))
	out = protocol.AppendU64(out, io["read_bytes"])
	out = protocol.AppendU64(out, io["write_bytes"])
	out = protocol.AppendU64(out, t.bytes)
	for _, n := range []uint32{t.streams, t.topics, t.partitions, t.segments} {
		out = protocol.AppendU32(out, n)
	}
	out = protocol.AppendU64(out, t.messages)
	out = protocol.AppendU32(out, uint32(c.e.sessions.count()))
	out = protocol.AppendU32(out, t.groups)
	c.out = c.e.appendMachine(out, uint32(status["Threads"]))
	return nil
}

// appendMachine appends the part of the stats that describes the machine.
func (e *Engine) appendMachine(out []byte, threads uint32) []byte {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	system, version := osName()
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = nil
	}
	for _, s := range []string{host, system, version, strings.TrimSpace(string(kernel)), serverVersion} {
		out = protocol.AppendText(out, s)
	}
	out = protocol.AppendU32(out, serverSemver)
	out = protocol.AppendU32(out, 0) // no message caches to report on
	out = protocol.AppendU32(out, threads)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(e.opts.DataDir, &disk); err != nil {
		disk = syscall.Statfs_t{}
	}
	out = protocol.AppendU64(out, disk.Bavail*uint64(disk.Bsize))
	return protocol.AppendU64(out, disk.Blocks*uint64(disk.Bsize))
}
