package bridge

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

const clusterIDKey = "cluster-id"

// ClusterID is the Kafka cluster id: the configured one, or the one in the
// internal state, which the first bridge makes. It is the same on all bridges
// that share a state, and never changes.
func (b *Bridge) ClusterID(ctx context.Context) (string, error) {
	if b.config.ClusterID != "" {
		return b.config.ClusterID, nil
	}
	if err := b.usable(); err != nil {
		return "", err
	}
	if err := b.state.ready(); err != nil {
		return "", err
	}
	raw, ok := b.state.get(clusterIDKey)
	if !ok {
		id, err := newClusterID()
		if err != nil {
			return "", err
		}
		if err := b.state.putIfAbsent(ctx, clusterIDKey, id); err != nil {
			return "", err
		}
		raw, _ = b.state.get(clusterIDKey)
	}
	var id string
	if err := json.Unmarshal(raw, &id); err != nil {
		return "", fmt.Errorf("%w: the cluster id in the internal state: %w", ErrStorage, err)
	}
	return id, nil
}

// newClusterID is a random id in Kafka's form: a UUID in base64, 22 characters,
// the first of which is not '-'.
func newClusterID() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	if id[0]>>2 == 62 {
		id[0] &= 0x7f
	}
	return base64.RawURLEncoding.EncodeToString(id[:]), nil
}
