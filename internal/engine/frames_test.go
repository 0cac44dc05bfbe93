package engine

import (
	"testing"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

func TestLengthAloneTakesLittleMemory(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	c := dialRawRoot(t, e)
	b := protocol.AppendU32(nil, 250<<20)
	b = protocol.AppendU32(b, 101)
	c.Write(append(b, 1, 2, 3))
	c.Close() // the engine must notice, give the buffer back and go on
	other := dialRaw(t, e)
	if status, _ := other.Do(1, nil); status != 0 {
		t.Errorf("ping: %d", status)
	}
}

func TestSendAboveTheLimitIsDrained(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{MaxSendBytes: 1 << 20})
	makeTopic(t, rootClient(t, e), 1)
	c := dialRawRoot(t, e)
	for range 3 {
		if status, _ := c.Do(101, make([]byte, 1<<20+1)); status != uint32(protocol.ErrInvalidSize) {
			t.Errorf("status %d", status)
		}
	}
	if status, _ := c.Do(101, sendPayload(rawclient.ToPartition(0), "x")); status != 0 {
		t.Errorf("a small one behind them: status %d", status)
	}
}
