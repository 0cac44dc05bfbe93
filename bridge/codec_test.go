package bridge

import (
	"testing"

	"kafka-iggy-bridge/internal/records"
)

// TestProducersCompressionIsKept: with compression.type=producer a consumer that
// comes soon gets the batch as it was sent, although nobody was reading when it
// was written.
func TestProducersCompressionIsKept(t *testing.T) {
	t.Parallel()
	for _, codec := range []records.Codec{records.CodecGzip, records.CodecSnappy, records.CodecLZ4, records.CodecZstd} {
		_, b, topic := fakeBridge(t, nil)
		var build records.Builder
		build.Reset(nil, records.BatchSpec{Codec: codec})
		for range 20 {
			if err := build.Append(1_700_000_000_000, nil, []byte("the same again and again"), nil); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := build.Finish()
		if err != nil {
			t.Fatal(err)
		}
		batch, err := records.ValidateProduce(raw, records.DefaultValidateOptions(9, 1_700_000_000_000))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Produce(testContext(t), topic, 0, batch); err != nil {
			t.Fatal(err)
		}
		got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{MaxBytes: 1 << 20})
		if err != nil || len(got.Records) != 1 {
			t.Fatalf("%d batches (%v)", len(got.Records), err)
		}
		fetched, _, err := records.Parse(got.Records[0])
		if err != nil || fetched.Codec() != codec || fetched.Count != 20 {
			t.Errorf("fetched with %s, %d records (%v), want %s", fetched.Codec(), fetched.Count, err, codec)
		}
	}
}
