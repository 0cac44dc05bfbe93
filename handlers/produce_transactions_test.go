package handlers

import (
	"fmt"
	"testing"

	"kafka-iggy-bridge/internal/errorcode"
)

// A client that begins a transaction by writing is not told that the one before
// is still ending: some pause for seconds then.
func TestTheNextTransactionIsBegunBehindTheLastOnesMarkers(t *testing.T) {
	t.Parallel()
	f := newTxn(t)
	p := f.init("tx")
	for i := range 20 {
		for partition := range int32(2) {
			if code := p.write(produceJoins, partition, fmt.Sprint(i)); code != errorcode.None {
				t.Fatalf("transaction %d, partition %d: %s", i, partition, errorcode.Name(code))
			}
		}
		if code := p.end(5, i%2 == 0); code != errorcode.None {
			t.Fatalf("end of transaction %d: %s", i, errorcode.Name(code))
		}
	}
}
