package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
	"kafka-iggy-bridge/internal/tool/frame"
	"kafka-iggy-bridge/internal/wire"
)

// unsupportedVersion is Kafka's error code of that name.
const unsupportedVersion = 35

// ErrUnsupportedVersion says that a server does not know the version of
// ApiVersions that it was asked in.
var ErrUnsupportedVersion = errors.New("the server does not support this version")

// judge decodes an answer.
func judge(x *corpus.Exchange, payload []byte) (Status, string) {
	if len(payload) < 4 {
		return Malformed, fmt.Sprintf("%d bytes are too few for a response header", len(payload))
	}
	if id := int32(binary.BigEndian.Uint32(payload)); id != x.CorrelationID {
		return Malformed, fmt.Sprintf("the answer's correlation id is %d, want %d", id, x.CorrelationID)
	}
	m, err := decode(x.Pair, payload)
	switch {
	case errors.Is(err, ErrUnsupportedVersion):
		return OK, describe(len(payload), m)
	case err != nil:
		return Malformed, err.Error()
	}
	return OK, describe(len(payload), m)
}

// decode decodes an answer's body. ApiVersions in a version that a server does
// not know is answered in version 0, with the error ErrUnsupportedVersion here
// (KIP-511).
func decode(p tool.Pair, payload []byte) (generated.Message, error) {
	if p.API.Key == generated.KeyApiVersions && p.Version > 0 && len(payload) >= 6 &&
		binary.BigEndian.Uint16(payload[4:]) == unsupportedVersion {
		_, m, err := frame.DecodeResponse(tool.Pair{API: p.API}, payload)
		if err != nil {
			return nil, err
		}
		return m, ErrUnsupportedVersion
	}
	_, m, err := frame.DecodeResponse(p, payload)
	return m, err
}

// judgeSilence looks at the first answer after a request that is due none.
func judgeSilence(x *corpus.Exchange, payload []byte) (Status, string) {
	if len(payload) < 4 {
		return Malformed, fmt.Sprintf("%d bytes are too few for a response header", len(payload))
	}
	switch id := int32(binary.BigEndian.Uint32(payload)); id {
	case probeCorrelation:
		return OK, "no answer, as none is due"
	case x.CorrelationID:
		return Malformed, "answered, though none is due"
	default:
		return Malformed, fmt.Sprintf("an answer with correlation id %d, which no request has", id)
	}
}

// errorCodes returns the error codes in a response, but 0, each once.
func errorCodes(m generated.Message) []int16 {
	var codes []int16
	collectCodes(m.Schema().Root, reflect.ValueOf(m).Elem(), &codes)
	return codes
}

func collectCodes(s *wire.Struct, v reflect.Value, codes *[]int16) {
	for i := range s.Fields {
		f, fv := &s.Fields[i], v.Field(i)
		switch {
		case f.Kind == wire.KindInt16 && !f.Array && strings.HasSuffix(f.Name, "ErrorCode"):
			if c := int16(fv.Int()); c != 0 && !slices.Contains(*codes, c) {
				*codes = append(*codes, c)
			}
		case f.Struct == nil:
		case f.Array:
			for j := range fv.Len() {
				collectCodes(f.Struct, fv.Index(j), codes)
			}
		case fv.Kind() == reflect.Pointer:
			if !fv.IsNil() {
				collectCodes(f.Struct, fv.Elem(), codes)
			}
		default:
			collectCodes(f.Struct, fv, codes)
		}
	}
}

func join(codes []int16) string {
	parts := make([]string, len(codes))
	for i, c := range codes {
		parts[i] = strconv.Itoa(int(c))
	}
	return strings.Join(parts, ", ")
}
