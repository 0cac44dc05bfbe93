package handlers

import (
	"context"
	"errors"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/transactions"
	"kafka-iggy-bridge/internal/wire"
)

// Produce, key 0, versions 3 to 13; ApiVersions says why 0 to 2 are advertised.
//
//   - Each partition's batch is checked as Kafka's log would (package records), then
//     put into the partition's queue; the partitions of a request are written side
//     by side, and each succeeds or fails alone.
//   - The answer comes when everything is written: acks 1 and -1 are the same, as
//     there are no replicas to wait for. acks 0 gets no answer; when a partition
//     failed the connection is closed, the only sign that such a client sees. Other
//     acks get 21.
//   - The request's timeout bounds the wait behind other writes, not a write that
//     has begun: what is withdrawn was not written, and the code lets the client
//     send it again.
//   - Topics are not created; clients ask Metadata for that.
//   - Topics that Kafka keeps for itself get 17 from all but its admin client.
//   - A transactional batch is written when its partition is part of the producer's
//     open transaction (KIP-890): up to version 11 AddPartitionsToTxn has added it,
//     from 12 on this request does. Otherwise it gets 48, from version 11 on 120; an
//     epoch that is over 47, a producer id that is not the transactional id's 49;
//     and a code to ask again on while the transaction before is being ended or the
//     coordinator is not at hand: 19, from version 12 on 51 for the former.
//   - Without a transactional id in the request Kafka refuses transactional batches
//     with 53, with an empty one with 42. A request with a transactional id and plain
//     batches is a plain one.
//   - The sequences of idempotent producers are checked (KIP-98, KIP-360): a batch
//     that was written before is answered as it was then and not written again, a
//     gap gets 45, an epoch that is over 47.
//   - Records that are null are an empty batch, 87. Kafka 4.4.0 never answers them.
//   - A partition that occurs twice is written twice. Kafka keeps the last batch.
//   - Offsets are -1 in failed rows, but the log's start is told where the batch
//     got as far as the log.
//
// Version history:
//
//	5  log start offset (KIP-107)
//	7  zstd, else 76 (KIP-110)
//	8  errors of single records and a message (KIP-467)
//	9  flexible
//	10 the leader with code 6 (KIP-951); unused, there is one bridge to ask
//	11 none on the wire; 12 transactions without AddPartitionsToTxn (KIP-890)
//	13 topics by id (KIP-516)
var _ = register(generated.KeyProduce, 3, 13, (*Handlers).produce)

const (
	// produceIDs is the first version that names topics by id.
	produceIDs = 13

	// minProduceWait is the least time that a batch may wait behind others. Kafka's
	// timeout is about replicas, and clients that set it to 0 still expect to
	// produce.
	minProduceWait = time.Second

	// maxHeldBytes is about how many bytes of decompressed records a request holds
	// at a time: a small request can hold many batches that decompress to much.
	maxHeldBytes = 64 << 20

	// decompressedRatio is how many times the size of a topic's largest batch any
	// batch may decompress to, where that is more than 64 MiB.
	decompressedRatio = 4

	// adminClientID is the client id with which Kafka's own tools may write to
	// internal topics.
	adminClientID = "__admin_client"
)

// producing is a Produce request on its way.
type producing struct {
	h    *Handlers
	req  *Request
	acks int16
	byID bool          // topics are named by id
	now  int64         // ms
	wait time.Duration // how long a batch may wait behind others

	// joined has the codes of partitions that were to be part of a transaction.
	joined map[transactions.TopicPartition]int16

	appends []appending
	left    int  // partitions whose turn has not come
	held    int  // bytes of decompressed records in appends
	failed  bool // some partition did
}

// appending is a batch in its partition's queue.
type appending struct {
	job   *bridge.Pending
	batch *records.Batch
	row   *generated.ProduceResponsePartitionProduceResponse
}

func (h *Handlers) produce(ctx context.Context, req *Request, body *generated.ProduceRequest) (generated.Message, error) {
	p := producing{
		h:    h,
		req:  req,
		acks: body.Acks,
		byID: req.Version >= produceIDs,
		now:  time.Now().UnixMilli(),
		wait: max(time.Duration(body.TimeoutMs)*time.Millisecond, minProduceWait),
	}
	resp := generated.DefaultProduceResponse()
	resp.Responses = make([]generated.ProduceResponseTopicProduceResponse, len(body.TopicData))
	for i := range body.TopicData {
		p.left += len(body.TopicData[i].PartitionData)
	}
	// Also when something panics: the frame must outlive what was submitted.
	defer p.settle(ctx)
	refusal := refusesTransaction(body)
	if refusal == errorcode.None {
		p.joinTransaction(ctx, body)
	}
	for i := range body.TopicData {
		p.topic(ctx, &body.TopicData[i], &resp.Responses[i], refusal)
	}
	p.settle(ctx)
	if p.acks != 0 {
		return &resp, nil
	}
	if p.failed {
		h.log.WithField("api", "Produce").WithField("version", req.Version).WithField("peer", req.Peer).
			Debug("connection closed: a Produce with acks=0 failed")
		req.CloseAfterwards = true
	}
	return nil, nil
}

// refusesTransaction is the code with which Kafka refuses a whole request that
// holds transactional batches but does not say whose.
func refusesTransaction(body *generated.ProduceRequest) int16 {
	if body.TransactionalId.Valid {
		return errorcode.None
	}
	for i := range body.TopicData {
		for j := range body.TopicData[i].PartitionData {
			if isTransactional(body.TopicData[i].PartitionData[j].Records) {
				return errorcode.TransactionalIDAuthorizationFailed
			}
		}
	}
	return errorcode.None
}

// isTransactional reports whether raw begins with a transactional batch. What
// is no batch is left to the checks.
func isTransactional(raw []byte) bool {
	batch, _, err := records.Parse(raw)
	return err == nil && batch.IsTransactional()
}

// topic checks and submits the batches for one topic.
func (p *producing) topic(ctx context.Context, data *generated.ProduceRequestTopicProduceData, resp *generated.ProduceResponseTopicProduceResponse, code int16) {
	*resp = generated.DefaultProduceResponseTopicProduceResponse()
	resp.Name, resp.TopicId = data.Name, data.TopicId
	resp.PartitionResponses = make([]generated.ProduceResponsePartitionProduceResponse, len(data.PartitionData))
	var (
		t    *bridge.Topic
		opts records.ValidateOptions
	)
	if code == errorcode.None {
		t, code = p.findTopic(ctx, data)
	}
	if code == errorcode.None {
		opts = p.options(t)
	}
	for i := range data.PartitionData {
		row := &resp.PartitionResponses[i]
		*row = generated.DefaultProduceResponsePartitionProduceResponse()
		row.Index, row.BaseOffset = data.PartitionData[i].Index, notKnown
		p.left--
		if row.ErrorCode = code; code == errorcode.None {
			row.ErrorCode = p.check(t, row.Index, data.PartitionData[i].Records)
		}
		if row.ErrorCode != errorcode.None {
			p.failed = true
			continue
		}
		p.append(ctx, t, data.PartitionData[i].Records, opts, row)
	}
}

// findTopic finds the topic to write to. Kafka's own topics may be written to
// only by its tools; there are none here by these names.
func (p *producing) findTopic(ctx context.Context, data *generated.ProduceRequestTopicProduceData) (*bridge.Topic, int16) {
	if !p.byID && bridge.IsReservedTopic(data.Name) && p.req.ClientID != adminClientID {
		return nil, errorcode.InvalidTopic
	}
	return p.h.findTopic(ctx, data.Name, data.TopicId, p.byID)
}

// options are what the topic's configuration says of batches.
func (p *producing) options(t *bridge.Topic) records.ValidateOptions {
	opts := records.DefaultValidateOptions(p.req.Version, p.now)
	opts.MaxBytes = p.h.maxMessageBytes(t)
	opts.MaxDecompressed = maxDecompressed(t, opts.MaxBytes)
	opts.RequireKeys = t.Config.Compacted()
	opts.LogAppendTime = t.Config.LogAppendTime()
	opts.TimestampBeforeMax = t.Config.TimestampBeforeMaxMs()
	opts.TimestampAfterMax = t.Config.TimestampAfterMaxMs()
	return opts
}

// maxMessageBytes is the size of the largest batch that a topic takes: its own
// setting, else the broker's.
func (h *Handlers) maxMessageBytes(t *bridge.Topic) int {
	if h.config.MaxMessageBytes <= 0 || hasOverride(t, bridge.ConfigMaxMessageBytes) {
		return t.Config.MaxMessageBytes()
	}
	return int(h.config.MaxMessageBytes)
}

// maxDecompressed bounds what a batch may decompress to. Kafka's default, 2 GiB,
// would let a few bytes take the memory of the whole bridge; a topic that needs
// more than a multiple of its largest batch says so. Beyond it a batch is too
// large, which makes producers split it.
func maxDecompressed(t *bridge.Topic, maxBytes int) int {
	if hasOverride(t, bridge.ConfigMaxDecompressed) {
		return t.Config.MaxDecompressedBytes()
	}
	return min(max(records.DefaultMaxDecompressed, decompressedRatio*maxBytes), t.Config.MaxDecompressedBytes())
}

func hasOverride(t *bridge.Topic, config string) bool {
	_, ok := t.Config.Overrides()[config]
	return ok
}

// check is what is wrong before the batch itself is looked at.
func (p *producing) check(t *bridge.Topic, partition int32, raw []byte) int16 {
	switch {
	case !hasPartition(t, partition):
		return errorcode.UnknownTopicOrPartition
	case p.acks < -1 || p.acks > 1:
		return p.badAcks(raw)
	case t.Internal && p.req.ClientID != adminClientID:
		return errorcode.InvalidTopic
	}
	return p.joined[transactions.TopicPartition{Topic: t.Name, Partition: partition}]
}

// badAcks is the code for acks that there are none of, behind what is wrong with
// the request's records, as in Kafka.
func (p *producing) badAcks(raw []byte) int16 {
	var invalid *records.ValidationError
	if errors.As(records.CheckRequest(raw, p.req.Version), &invalid) {
		return invalid.Kind.Code()
	}
	return errorcode.InvalidRequiredAcks
}

// append validates a batch and submits it. The last one of the request is
// written right here, which saves a switch to another goroutine and back.
func (p *producing) append(ctx context.Context, t *bridge.Topic, raw []byte, opts records.ValidateOptions, row *generated.ProduceResponsePartitionProduceResponse) {
	batch, err := records.ValidateProduce(raw, opts)
	if err != nil {
		p.failed = true
		p.refuse(ctx, t, row, err)
		return
	}
	a := appending{batch: batch, row: row}
	if p.left == 0 {
		ctx, cancel := context.WithTimeout(ctx, p.wait)
		defer cancel()
		result, err := p.h.bridge.Produce(ctx, t, row.Index, batch)
		p.finish(a, result, err)
		return
	}
	a.job = p.h.bridge.Submit(ctx, t, row.Index, batch)
	p.appends = append(p.appends, a)
	if batch.Codec() == records.CodecNone {
		return
	}
	if decompressed, err := batch.Records(); err == nil {
		p.held += len(decompressed)
	}
	if p.held > maxHeldBytes {
		p.settle(ctx)
	}
}

// refuse fills in the row of a batch that is not valid.
func (p *producing) refuse(ctx context.Context, t *bridge.Topic, row *generated.ProduceResponsePartitionProduceResponse, err error) {
	var invalid *records.ValidationError
	if !errors.As(err, &invalid) {
		row.ErrorCode = errorcode.UnknownServerError
		return
	}
	row.ErrorCode = invalid.Kind.Code()
	row.ErrorMessage = wire.String(invalid.Message)
	for _, e := range invalid.RecordErrors {
		r := generated.DefaultProduceResponseBatchIndexAndErrorMessage()
		r.BatchIndex, r.BatchIndexErrorMessage = e.BatchIndex, wire.String(e.Message)
		row.RecordErrors = append(row.RecordErrors, r)
	}
	if !invalid.LogStartOffset || p.acks == 0 || p.req.Version < 5 {
		return
	}
	if start, err := p.h.bridge.LogStartOffset(ctx, t, row.Index); err == nil {
		row.LogStartOffset = start
	}
}

// settle waits for everything that was submitted: until then the batches, views
// of the frame, belong to the bridge.
func (p *producing) settle(ctx context.Context) {
	if len(p.appends) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	for _, a := range p.appends {
		result, err := a.job.Wait(ctx)
		p.finish(a, result, err)
	}
	clear(p.appends)
	p.appends, p.held = p.appends[:0], 0
}

// finish fills in the row of a batch that was written, or was not.
func (p *producing) finish(a appending, result bridge.Appended, err error) {
	count, size := int(a.batch.Count), len(a.batch.Raw)
	a.batch.Release()
	if err == nil {
		p.h.metrics.Produced(count, size)
		a.row.BaseOffset = result.BaseOffset
		a.row.LogAppendTimeMs = result.LogAppendTime
		a.row.LogStartOffset = result.LogStartOffset
		return
	}
	p.failed = true
	a.row.ErrorCode = partitionCode(err, p.byID)
	switch a.row.ErrorCode {
	case errorcode.OutOfOrderSequenceNumber, errorcode.InvalidProducerEpoch, errorcode.InvalidTxnState:
		a.row.LogStartOffset = result.LogStartOffset
	}
	if errors.Is(err, bridge.ErrRecordTooLarge) || errors.Is(err, bridge.ErrCorruptBatch) {
		a.row.ErrorMessage = wire.String(err.Error())
	}
}
