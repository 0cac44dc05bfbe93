package bridge

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// Names of the Iggy user headers that carry what a payload cannot.
const (
	headerVersion  = "kafka.v"
	headerKey      = "kafka.key"
	headerPrefix   = "kafka.h."
	headerValue    = "kafka.value"
	headerTime     = "kafka.ts"
	headerEnvelope = "kafka.envelope"
	headerControl  = "kafka.control"
	reservedPrefix = "kafka."

	valueNull  = "null"
	valueEmpty = "empty"
)

const (
	// mappingVersion is the value of kafka.v of records, controlVersion that of
	// control records: who knows only the former must not take them for records.
	mappingVersion = 1
	controlVersion = 2
	// maxHeaderField bounds a header's key and value in bytes; neither is empty.
	maxHeaderField = 255
	// headerOverhead is what an entry takes besides its key and value.
	headerOverhead = 1 + 4 + 1 + 4
)

// userHeader is an entry of a message's user headers; the bytes are views.
type userHeader struct {
	keyKind, valueKind iggcon.HeaderKind
	key, value         []byte
}

// errUserHeaders says that a message's user headers are not a list of entries.
var errUserHeaders = errors.New("malformed user headers")

// nextUserHeader reads the first entry of b and returns what follows it.
func nextUserHeader(b []byte) (h userHeader, rest []byte, err error) {
	h.keyKind, h.key, b, err = userHeaderField(b)
	if err != nil {
		return h, nil, err
	}
	h.valueKind, h.value, b, err = userHeaderField(b)
	return h, b, err
}

func userHeaderField(b []byte) (kind iggcon.HeaderKind, field, rest []byte, err error) {
	if len(b) < 5 {
		return 0, nil, nil, errUserHeaders
	}
	size := binary.LittleEndian.Uint32(b[1:])
	if uint64(size) > uint64(len(b)-5) {
		return 0, nil, nil, errUserHeaders
	}
	end := 5 + int(size)
	return iggcon.HeaderKind(b[0]), b[5:end:end], b[end:], nil
}

// appendUserHeader appends an entry with a String key in two parts and a value.
func appendUserHeader[V []byte | string](dst []byte, prefix, name string, kind iggcon.HeaderKind, value V) []byte {
	dst = append(dst, byte(iggcon.String))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(prefix)+len(name)))
	dst = append(dst, prefix...)
	dst = append(dst, name...)
	dst = append(dst, byte(kind))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...)
}

// userHeaderName is the Kafka header name for an Iggy header's key: its text,
// the decimal form of numbers, or the hexadecimal form of what is not text.
func userHeaderName(kind iggcon.HeaderKind, key []byte) string {
	if want := kind.ExpectedSize(); want == len(key) {
		switch kind {
		case iggcon.Bool:
			return strconv.FormatBool(key[0] != 0)
		case iggcon.Int8:
			return strconv.Itoa(int(int8(key[0])))
		case iggcon.Int16:
			return strconv.Itoa(int(int16(binary.LittleEndian.Uint16(key))))
		case iggcon.Int32:
			return strconv.Itoa(int(int32(binary.LittleEndian.Uint32(key))))
		case iggcon.Int64:
			return strconv.FormatInt(int64(binary.LittleEndian.Uint64(key)), 10)
		case iggcon.Uint8:
			return strconv.Itoa(int(key[0]))
		case iggcon.Uint16:
			return strconv.Itoa(int(binary.LittleEndian.Uint16(key)))
		case iggcon.Uint32:
			return strconv.FormatUint(uint64(binary.LittleEndian.Uint32(key)), 10)
		case iggcon.Uint64:
			return strconv.FormatUint(binary.LittleEndian.Uint64(key), 10)
		case iggcon.Float:
			return strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(key))), 'g', -1, 32)
		case iggcon.Double:
			return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(key)), 'g', -1, 64)
		}
	}
	if (kind == iggcon.String || kind == iggcon.Raw) && utf8.Valid(key) {
		return string(key)
	}
	return hex.EncodeToString(key)
}
