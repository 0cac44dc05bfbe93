package producers

// Record is a record of the log, as a replay gives it to a Ledger.
type Record struct {
	Offset int64
	// HasProducer says that the next four are there.
	HasProducer   bool
	ProducerID    int64
	Epoch         int16
	Sequence      int32
	Transactional bool
	// Timestamp is the record's, in ms.
	Timestamp int64
	// AppendTime is when it was appended: the same for all records of a batch.
	AppendTime uint64
	// Marker is set for the record of a control batch that ends a transaction.
	Marker *Marker
}

// replayed is the batch of the record replayed last.
type replayed struct {
	set        bool
	producerID int64
	epoch      int16
	sequence   int32
	appendTime uint64
}

// Replay takes note of the log's next record. Records of the same producer, with
// sequence numbers that follow one another and the same time of append, are of
// one batch.
func (l *Ledger) Replay(r *Record) {
	switch {
	case r.Marker != nil:
		l.End(*r.Marker, r.Offset, r.Timestamp)
	case !r.HasProducer:
		l.Skip(r.Offset + 1)
	case l.last.continues(r) && l.next == r.Offset:
		p := l.producers[r.ProducerID]
		b := &p.batches[len(p.batches)-1]
		b.last = r.Sequence
		b.at.Timestamp = max(b.at.Timestamp, r.Timestamp)
		p.timestamp = b.at.Timestamp
		l.last.sequence = r.Sequence
		l.next = r.Offset + 1
	default:
		l.Append(Batch{
			ProducerID: r.ProducerID, Epoch: r.Epoch,
			FirstSequence: r.Sequence, LastSequence: r.Sequence,
			Transactional: r.Transactional,
		}, Appended{Base: r.Offset, Timestamp: r.Timestamp}, 1)
		l.last = replayed{set: true, producerID: r.ProducerID, epoch: r.Epoch, sequence: r.Sequence, appendTime: r.AppendTime}
	}
}

func (last *replayed) continues(r *Record) bool {
	return last.set && last.producerID == r.ProducerID && last.epoch == r.Epoch &&
		last.appendTime == r.AppendTime && follows(last.sequence, r.Sequence)
}
