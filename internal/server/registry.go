package server

import "kafka-iggy-bridge/handlers"

// Registry knows what serves an API key; *handlers.Handlers is the one.
type Registry interface {
	// Lookup returns the endpoint of a key, or false when it is not served.
	Lookup(key int16) (handlers.Endpoint, bool)
}
