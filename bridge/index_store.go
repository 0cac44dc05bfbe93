package bridge

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

const timeIndexPrefix = "time-index/"

func timeIndexKeys(id [16]byte) string { return timeIndexPrefix + hex.EncodeToString(id[:]) + "/" }

// restoreIndex fills a partition's index from the internal state, once.
func (b *Bridge) restoreIndex(ctx context.Context, p *partition, end int64) {
	p.mu.Lock()
	done := p.indexRestored
	p.indexRestored = true
	p.mu.Unlock()
	if done {
		return
	}
	raw, ok := b.state.get(timeIndexKeys(p.topic.id) + strconv.Itoa(int(p.id)))
	if !ok {
		return
	}
	var snapshot []byte
	err := json.Unmarshal(raw, &snapshot)
	if err == nil {
		err = p.index.restore(snapshot, end)
	}
	if err != nil {
		// The index grows again from the log.
		b.log.WithError(err).WithField("topic", p.topic.name).WithField("partition", p.id).Warn("a stored time index cannot be read")
	}
}

// saveIndexes stores the time indexes and the producers that changed. What cannot be saved is
// read from the log again when it is needed.
func (b *Bridge) saveIndexes(ctx context.Context) {
	for _, t := range b.catalog.list() {
		if t.Internal {
			continue // nobody asks often, and their logs are short
		}
		for _, p := range t.state.all() {
			if err := ctx.Err(); err != nil {
				return
			}
			hw, known := p.watermark()
			if !known {
				continue
			}
			if err := p.tidyLedger(ctx); err != nil {
				b.log.WithError(err).Warn("a partition's producers could not be stored")
				return
			}
			b.restoreIndex(ctx, p, hw)
			snapshot := p.index.snapshot()
			if snapshot == nil {
				continue
			}
			if err := b.state.put(ctx, timeIndexKeys(t.ID)+strconv.Itoa(int(p.id)), snapshot); err != nil {
				p.index.keepChanged()
				b.log.WithError(err).Warn("time indexes could not be stored")
				return
			}
		}
	}
}

// forget removes from the internal state what it knows of a topic that is gone.
// A topic of the same name may be in the making: its configuration stays.
func (b *Bridge) forget(t *Topic) {
	b.spawn(func() {
		ctx, cancel := context.WithTimeout(b.ctx, b.config.OperationTimeout)
		defer cancel()
		doomed := make(map[string]json.RawMessage)
		for _, keys := range []string{timeIndexKeys(t.ID), ledgerKeys(t.ID)} {
			for _, key := range b.state.keys(keys) {
				if value, ok := b.state.get(key); ok {
					doomed[key] = value
				}
			}
		}
		if raw, ok := b.state.get(topicConfigPrefix + t.Name); ok {
			var stored storedConfig
			if err := json.Unmarshal(raw, &stored); err == nil && stored.ID == hex.EncodeToString(t.ID[:]) {
				doomed[topicConfigPrefix+t.Name] = raw
			}
		}
		if err := b.state.remove(ctx, doomed); err != nil && ctx.Err() == nil {
			b.log.WithError(err).WithField("topic", t.Name).Warn("the state of a deleted topic could not be removed")
		}
	})
}
