// Package config is the bridge's configuration. One table (keys.go) holds every
// key with its default, what is allowed, and its documentation; from it come the
// checks, the command-line flags, the names in the environment, the output of
// `kafka-iggy-bridge config`, and docs/CONFIG.md.
//
// A value is taken from, the later over the earlier: the default, the file given
// with --config or BRIDGE_CONFIG (YAML, TOML or JSON), the environment (BRIDGE_
// and the key in upper case, dots as underscores), the flag of the key's name.
package config

//go:generate go run ./docgen -out ../../docs/CONFIG.md
