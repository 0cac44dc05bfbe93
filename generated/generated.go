// Package generated is the codec of Kafka's messages, made from the specs in
// schemas by gen. This file alone is written by hand: it holds the types of the
// generated tables and the look-ups over them.
//
// Every message is a struct with the union of its versions' fields. Decode and
// Encode are chosen by version and have no version tests inside; what is decoded
// are views of the frame.
package generated

//go:generate go run ../gen/cmd/generate -schemas ../schemas -out .

import (
	"slices"

	"kafka-iggy-bridge/internal/wire"
)

// Message is what every generated message offers.
type Message = wire.Message

// API is one API key of Kafka with its versions.
type API struct {
	Key  int16
	Name string
	// Min and Max are the versions in the specs; Max is below Min for keys that
	// Kafka removed.
	Min, Max int16
	// MaxStable is Max, or one less where the latest version is unstable and so
	// not served by default.
	MaxStable int16
	// FlexibleFrom is the first flexible version; above Max where none is.
	FlexibleFrom int16
	// Listeners are the roles in Kafka that serve it: broker, controller.
	Listeners []string
	// NewRequest and NewResponse return messages at their defaults. They are nil
	// for keys that Kafka removed.
	NewRequest, NewResponse func() Message

	responseTagsFrom int16
}

// Valid reports whether the key has any version.
func (a *API) Valid() bool { return a.Max >= a.Min }

// Has reports whether version is valid for the key.
func (a *API) Has(version int16) bool { return version >= a.Min && version <= a.Max }

// Flexible reports whether a version uses compact forms and tagged fields.
func (a *API) Flexible(version int16) bool { return version >= a.FlexibleFrom }

// RequestHeaderVersion is the version of the header in front of a request. For
// versions above Max it is that of the latest, as in Kafka.
func (a *API) RequestHeaderVersion(version int16) int16 {
	if a.Flexible(version) {
		return 2
	}
	return 1
}

// ResponseHeaderVersion is the version of the header in front of a response.
func (a *API) ResponseHeaderVersion(version int16) int16 {
	if version >= a.responseTagsFrom {
		return 1
	}
	return 0
}

// APIs returns all API keys in order, those that Kafka removed included.
func APIs() []API { return apis[:] }

// LookupAPI returns the entry of a key.
func LookupAPI(key int16) (*API, bool) {
	if key < 0 || int(key) >= len(apis) {
		return nil, false
	}
	return &apis[key], true
}

// LookupAPIName returns the entry of an API by its name, such as "Fetch".
func LookupAPIName(name string) (*API, bool) {
	i := slices.IndexFunc(apis[:], func(a API) bool { return a.Name == name })
	if i < 0 {
		return nil, false
	}
	return &apis[i], true
}

type messageEntry struct {
	schema *wire.Schema
	make   func() Message
}

// Schemas returns the descriptions of all messages, by name.
func Schemas() []*wire.Schema {
	all := make([]*wire.Schema, len(messages))
	for i, e := range messages {
		all[i] = e.schema
	}
	return all
}

// NewMessage returns a message at its defaults by the name of its spec, such as
// "FetchRequest".
func NewMessage(name string) (Message, bool) {
	i := slices.IndexFunc(messages, func(e messageEntry) bool { return e.schema.Name == name })
	if i < 0 {
		return nil, false
	}
	return messages[i].make(), true
}
