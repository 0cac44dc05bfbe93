// Package frame puts requests and responses of the Kafka protocol together and
// takes them apart: four bytes of size, a header in the version that belongs to
// the API's version, the body.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/wire"
)

// SizeBytes is the size of a frame's size.
const SizeBytes = 4

// MaxSize is the greatest frame that Read takes, in bytes: what Kafka's clients
// and brokers have as their limits by default stays below it.
const MaxSize = 256 << 20

// Errors of frames.
var (
	// ErrSize says that a frame announces a size that is negative, above
	// MaxSize, or other than what is there.
	ErrSize = errors.New("frame has a wrong size")
	// ErrTruncated says that a stream ends inside a frame.
	ErrTruncated = errors.New("ends inside a frame")
	// ErrSpare says that bytes are left behind a message.
	ErrSpare = errors.New("bytes are left behind the message")
)

// AppendRequest appends a framed request.
func AppendRequest(dst []byte, p tool.Pair, correlation int32, clientID string, body generated.Message) ([]byte, error) {
	h := generated.DefaultRequestHeader()
	h.RequestApiKey, h.RequestApiVersion = p.API.Key, p.Version
	h.CorrelationId, h.ClientId = correlation, wire.String(clientID)
	return appendFrame(dst, &h, p.API.RequestHeaderVersion(p.Version), body, p.Version)
}

// AppendResponse appends a framed response.
func AppendResponse(dst []byte, p tool.Pair, correlation int32, body generated.Message) ([]byte, error) {
	h := generated.DefaultResponseHeader()
	h.CorrelationId = correlation
	return appendFrame(dst, &h, p.API.ResponseHeaderVersion(p.Version), body, p.Version)
}

func appendFrame(dst []byte, h generated.Message, headerVersion int16, body generated.Message, version int16) ([]byte, error) {
	start := len(dst)
	out := append(dst, 0, 0, 0, 0)
	out, err := h.Append(out, headerVersion)
	if err != nil {
		return dst, err
	}
	if out, err = body.Append(out, version); err != nil {
		return dst, err
	}
	PutSize(out[start:])
	return out, nil
}

// PutSize fills in the size of a frame, for which room has been left.
func PutSize(framed []byte) { binary.BigEndian.PutUint32(framed, uint32(len(framed)-SizeBytes)) }

// Payload returns what a frame holds behind its size, which must be that of the
// whole rest: else the error is ErrSize.
func Payload(framed []byte) ([]byte, error) {
	if len(framed) < SizeBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few for one", ErrSize, len(framed))
	}
	size := int32(binary.BigEndian.Uint32(framed))
	if int(size) != len(framed)-SizeBytes {
		return nil, fmt.Errorf("%w: it announces %d bytes, %d follow", ErrSize, size, len(framed)-SizeBytes)
	}
	return framed[SizeBytes:], nil
}

// Read reads one frame and returns what it holds behind its size. The error is
// io.EOF where the stream ends before it, ErrTruncated where it ends inside,
// ErrSize for an impossible size, and else the stream's.
func Read(r io.Reader) ([]byte, error) {
	var head [SizeBytes]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return nil, truncated(err, n, SizeBytes)
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 0 || size > MaxSize {
		return nil, fmt.Errorf("%w: it announces %d bytes", ErrSize, size)
	}
	// What is announced is not believed: memory grows as bytes arrive.
	b, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err == nil && len(b) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, truncated(err, len(b), int(size))
	}
	return b, nil
}

// truncated tells a clean end from one inside a frame; other errors pass.
func truncated(err error, got, want int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %d of %d bytes came", ErrTruncated, got, want)
	}
	return err
}

// DecodeRequest takes a request apart, given without its size. The header says
// what the body is; the error is a *wire.Error, ErrSpare, or says that there is
// no such API or version.
func DecodeRequest(payload []byte) (*generated.RequestHeader, generated.Message, error) {
	if len(payload) < 4 {
		return nil, nil, fmt.Errorf("%w: %d bytes are too few for a request header", ErrTruncated, len(payload))
	}
	key, version := int16(binary.BigEndian.Uint16(payload)), int16(binary.BigEndian.Uint16(payload[2:]))
	a, ok := generated.LookupAPI(key)
	if !ok || !a.Has(version) {
		return nil, nil, fmt.Errorf("there is no version %d of API key %d", version, key)
	}
	var h generated.RequestHeader
	rest, err := h.Decode(a.RequestHeaderVersion(version), payload)
	if err != nil {
		return nil, nil, err
	}
	m := a.NewRequest()
	return &h, m, decodeBody(m, version, rest)
}

// DecodeResponse takes a response apart, given without its size. The error is a
// *wire.Error or ErrSpare.
func DecodeResponse(p tool.Pair, payload []byte) (*generated.ResponseHeader, generated.Message, error) {
	var h generated.ResponseHeader
	rest, err := h.Decode(p.API.ResponseHeaderVersion(p.Version), payload)
	if err != nil {
		return nil, nil, err
	}
	m := p.API.NewResponse()
	return &h, m, decodeBody(m, p.Version, rest)
}

func decodeBody(m generated.Message, version int16, b []byte) error {
	rest, err := m.Decode(version, b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s v%d: %d %w", m.Schema().Name, version, len(rest), ErrSpare)
	}
	return err
}
