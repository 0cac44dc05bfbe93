package handlers

import (
	"context"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// Fetch, key 1, versions 4 to 18.
//
//   - Batches are sent as the bridge keeps them, in whole: a batch that begins
//     below the offset asked for comes complete, as from Kafka.
//   - Partitions are read in the request's order. Each obeys its own limit and what
//     is left of the request's, which is at most maxFetchBytes; but the first batch
//     of the first partition that has any comes always (KIP-74), and so at most one
//     batch of an answer exceeds a limit.
//   - Below min_bytes the request waits up to max_wait for more to be written. A
//     min_bytes above the limit counts as the limit. What was read stays read: only
//     what came since is read when partitions grow. The client's departure or the
//     bridge's shutdown end the wait (package parking).
//   - Offsets below the log's start or above its end get 1, at once, also when
//     other partitions of the request wait. The same holds for wrong leader epochs
//     and faults of Iggy. Unknown topics and partitions do not end the others' wait,
//     as in Kafka: clients repeat the request until they have new metadata.
//   - When nothing could be read because of faults of Iggy, the answer is held back
//     for a moment: many clients ask again without a pause.
//   - Records are never null, also in rows with an error: many clients take null for
//     a malformed answer.
//   - Readers of committed records get those before the last stable offset, and the
//     aborted transactions among them, whose records they leave out themselves. For
//     others that list is null, as in Kafka. An unknown isolation level gets 42.
//   - There are no fetch sessions (KIP-227): a new session gets the id 0, which
//     tells the client to go on with full requests, and a request within a session
//     gets 70, Kafka's answer when it has forgotten one.
//   - Replicas get 6: this cluster's logs are not replicated by fetching.
//   - What a client believes to be the leader epoch is checked: 75 above 0; Kafka
//     takes anything below for "not said". The epoch of its last record (KIP-595)
//     must be 0: above, its offset is out of range; if its offset lies beyond the
//     end, it is told where epoch 0 ends.
//   - A topic id that nobody has gets 100 (KIP-516), an unknown partition of a known
//     one 3.
//
// Version history:
//
//	5  log start offset (KIP-107)
//	7  sessions (KIP-227)
//	9  leader epoch (KIP-320)
//	10 zstd may occur (KIP-110)
//	11 rack and preferred replica (KIP-392); the answer names none
//	12 flexible, epoch of the last record (KIP-595)
//	13 topics by id (KIP-516)
//	14 tiered storage (KIP-405); 15 replica's state as a tag (KIP-903)
//	16 leaders' addresses (KIP-951); 17 replica's directory (KIP-853)
//	18 replica's high watermark (KIP-1166)
var _ = register(generated.KeyFetch, 4, 18, (*Handlers).fetch)

const (
	// fetchIDs is the first version that names topics by id.
	fetchIDs = 13

	// maxFetchBytes bounds an answer, whatever the client asks for: Kafka's
	// fetch.max.bytes, 55 MiB.
	maxFetchBytes = 55 << 20

	// outageHold is how long an answer is held back that holds nothing but faults
	// of Iggy: what clients that do pause wait before they ask again.
	outageHold = 100 * time.Millisecond

	// fullFetch and lastFetch are the session epochs of requests outside of a
	// session: the first opens one, the second does not want any.
	fullFetch = 0
	lastFetch = -1
)

func (h *Handlers) fetch(ctx context.Context, req *Request, body *generated.FetchRequest) (generated.Message, error) {
	resp := generated.DefaultFetchResponse()
	if body.SessionEpoch != fullFetch && body.SessionEpoch != lastFetch {
		resp.ErrorCode = errorcode.FetchSessionIDNotFound
		return &resp, nil
	}
	if !isIsolationLevel(body.IsolationLevel) {
		resp.ErrorCode = errorcode.InvalidRequest
	}
	deadline := time.Now().Add(time.Duration(body.MaxWaitMs) * time.Millisecond)
	f := newFetching(h, req.Version, body)
	f.begin(ctx, body, &resp)
	f.read(ctx)
	switch {
	case f.outage && f.size == 0:
		f.hold(ctx, min(outageHold, time.Until(deadline)))
	case len(f.partitions) > 0 && !f.enough():
		f.wait(ctx, time.Until(deadline))
	}
	f.fill()
	f.release()
	return &resp, nil
}
