package storage

// SegmentInfo describes a sealed segment to whoever decides on its deletion.
type SegmentInfo struct {
	Start, End uint64 // offsets: first, and after the last
	MaxTime    uint64 // greatest append time, µs
	Bytes      uint64 // bytes of its messages
}

// OldestSealed returns the oldest sealed segment.
func (l *Log) OldestSealed() (SegmentInfo, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed || len(l.segments) < 2 {
		return SegmentInfo{}, false
	}
	return l.segments[0].info(), true
}

// Active returns the active segment's figures.
func (l *Log) Active() SegmentInfo {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.active().info()
}

func (s *segment) info() SegmentInfo {
	return SegmentInfo{Start: s.start, End: s.end, MaxTime: s.maxTime, Bytes: s.bodyBytes()}
}

// DeleteOldest removes the oldest segment when it is sealed and ends at end, which
// guards against another deletion in between. The active segment stays always, so
// the log never forgets its end. It reports whether a segment was removed.
func (l *Log) DeleteOldest(end uint64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.segments) < 2 || l.segments[0].end != end {
		return false, nil
	}
	seg := l.segments[0]
	// A new slice, since readers may hold the old one.
	l.segments = append([]*segment(nil), l.segments[1:]...)
	l.store.files.forget(&seg.slot)
	return true, seg.removeFiles()
}
