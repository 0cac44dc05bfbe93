package server

import (
	"fmt"
	"net"
	"sync"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// maxPooledEncoder is the largest buffer that goes back to the pool: an answer
// with many topics must not keep its memory for ever.
const maxPooledEncoder = 1 << 20

// encoder holds what one answer is encoded into until it has been written.
type encoder struct {
	w        wire.Writer
	segments net.Buffers
	done     func() // release, bound once
}

var encoders sync.Pool

func newEncoder() *encoder {
	if e, ok := encoders.Get().(*encoder); ok {
		return e
	}
	e := &encoder{}
	e.done = e.release
	return e
}

// encode appends frame size, response header and message to a pooled buffer.
// Records are not copied but stand as segments of their own.
func encode(c *call, r *reply) (Response, error) {
	e := newEncoder()
	e.w.KeepSegments()
	at := e.w.BeginFrame()
	header := generated.ResponseHeader{CorrelationId: c.req.Header.CorrelationId}
	err := header.Encode(&e.w, c.api.ResponseHeaderVersion(r.version))
	if err == nil {
		err = r.message.Encode(&e.w, r.version)
	}
	if err != nil {
		e.release()
		return Response{}, fmt.Errorf("encode the answer: %w", err)
	}
	e.w.EndFrame(at)
	e.segments = e.w.Buffers(e.segments)
	return Response{Segments: e.segments, Release: e.done, Close: c.req.CloseAfterwards}, nil
}

func (e *encoder) release() {
	clear(e.segments)
	e.segments = e.segments[:0]
	e.w.Reset()
	if e.w.Cap() <= maxPooledEncoder {
		encoders.Put(e)
	}
}
