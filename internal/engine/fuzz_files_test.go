package engine

import (
	"encoding/binary"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/engine/metalog"
)

// FuzzOffsetsFile gives the offset store any file: what it makes of it must be usable
// and be the same after a restart.
func FuzzOffsetsFile(f *testing.F) {
	const name = "offsets-0000000001.log"
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	open := func(tb testing.TB, dir string) *offsetStore {
		tb.Helper()
		s, err := openOffsets(dir, metalog.Options{SkipCorrupt: true, CompactBytes: 256, Logger: quiet})
		if err != nil {
			tb.Fatalf("open: %v", err)
		}
		return s
	}
	dir := f.TempDir()
	s := open(f, dir)
	for i := range uint64(3) {
		if err := s.set(offsetKey{partition: i, group: i == 1, consumer: 7}, i); err != nil {
			f.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-3])
	f.Add(append(b, b[16:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 12 && binary.LittleEndian.Uint32(b[8:]) != metalog.FormatVersion {
			return // of another version: refused
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openOffsets(dir, metalog.Options{SkipCorrupt: true, CompactBytes: 256, Logger: quiet})
		if err != nil {
			return // told, not guessed
		}
		k := offsetKey{partition: 1, consumer: 2}
		for i := range uint64(20) {
			if err := s.set(k, i); err != nil {
				t.Fatal(err)
			}
		}
		before := maps.Clone(s.tables)
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		if !maps.EqualFunc(before, s.tables, maps.Equal) {
			t.Errorf("before a restart %v, after it %v", before, s.tables)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzCatalogEntry replays any change into a catalog that has something of everything.
func FuzzCatalogEntry(f *testing.F) {
	e := startEngine(f, Options{})
	cli := rootClient(f, e)
	makeTopic(f, cli, 2)
	if _, err := cli.CreateConsumerGroup(named("s"), named("t"), "g"); err != nil {
		f.Fatal(err)
	}
	type entry struct{ key, value []byte }
	var all []entry
	if err := e.catalog.snapshot(func(key, value []byte) { all = append(all, entry{key, value}) }); err != nil {
		f.Fatal(err)
	}
	for _, x := range all {
		f.Add(x.key, x.value, false)
		f.Add(x.key, x.value[:len(x.value)/2], true)
	}
	f.Fuzz(func(t *testing.T, key, value []byte, remove bool) {
		var c catalog
		c.init()
		for _, x := range all {
			if err := c.apply(metalog.Change{Key: x.key, Value: x.value}); err != nil {
				t.Fatal(err)
			}
		}
		if value == nil {
			value = []byte{}
		}
		if remove {
			value = nil
		}
		if err := c.apply(metalog.Change{Key: key, Value: value}); err != nil {
			return
		}
		if err := c.link(); err != nil {
			return
		}
		for s := range c.streams.all() { // what was accepted can be walked
			for topic := range s.topics.all() {
				_ = topic.value()
			}
		}
	})
}
