package bridge

import (
	"crypto/sha256"
	"encoding/binary"
)

// topicID derives a topic's id (KIP-516) from what identifies the topic in
// Iggy: all bridges and all restarts come to the same one, and a topic that is
// deleted and made anew gets another. The id has the form of a UUID of version
// 8 (RFC 9562), so it is never one of those that Kafka reserves, and its text
// never begins with '-', which Kafka's tools would take for an option.
func topicID(info topicInfo) [16]byte {
	b := make([]byte, 0, 64+len(info.location.Stream)+len(info.location.Topic))
	b = append(b, "kafka-iggy-bridge topic id 1"...)
	b = binary.BigEndian.AppendUint32(b, info.streamID)
	b = binary.BigEndian.AppendUint32(b, info.id)
	b = binary.BigEndian.AppendUint64(b, info.createdAt)
	for _, name := range []string{info.location.Stream, info.location.Topic} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
		b = append(b, name...)
	}
	sum := sha256.Sum256(b)
	var id [16]byte
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	if id[0]>>2 == 62 { // '-' in the base64 that Kafka writes ids in
		id[0] &= 0x7f
	}
	return id
}
