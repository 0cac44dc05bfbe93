package exchange

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
)

// Range is the versions of an API that a server lists.
type Range struct{ Min, Max int16 }

// Ranges asks a server which APIs it serves in which versions. It asks in the
// newest version and, where the server is older, again in the newest that the
// server says it knows (KIP-511).
func (s Server) Ranges(ctx context.Context) (map[int16]Range, error) {
	api, _ := generated.LookupAPI(generated.KeyApiVersions)
	m, err := s.apiVersions(ctx, tool.Pair{API: api, Version: api.MaxStable})
	if errors.Is(err, ErrUnsupportedVersion) {
		version := int16(0)
		for _, k := range m.ApiKeys {
			if k.ApiKey == api.Key && k.MaxVersion < api.MaxStable {
				version = max(version, k.MaxVersion)
			}
		}
		m, err = s.apiVersions(ctx, tool.Pair{API: api, Version: version})
	}
	if err != nil {
		return nil, err
	}
	if m.ErrorCode != 0 {
		return nil, fmt.Errorf("%s answers ApiVersions with error code %d", s.Address, m.ErrorCode)
	}
	ranges := map[int16]Range{}
	for _, k := range m.ApiKeys {
		ranges[k.ApiKey] = Range{k.MinVersion, k.MaxVersion}
	}
	return ranges, nil
}

func (s Server) apiVersions(ctx context.Context, p tool.Pair) (*generated.ApiVersionsResponse, error) {
	x, err := corpus.Make(p, corpus.Options{})
	if err != nil {
		return nil, err
	}
	payload, err := s.ask(ctx, x.Request)
	if err != nil {
		status, detail := classify(err)
		return nil, fmt.Errorf("%s to %s: %s: %s", p, s.Address, status, detail)
	}
	if len(payload) < 4 || int32(binary.BigEndian.Uint32(payload)) != x.CorrelationID {
		return nil, fmt.Errorf("%s to %s: %s: the answer belongs to another request", p, s.Address, Malformed)
	}
	m, err := decode(p, payload)
	if err != nil && !errors.Is(err, ErrUnsupportedVersion) {
		return nil, fmt.Errorf("%s to %s: %s: %w", p, s.Address, Malformed, err)
	}
	answer, ok := m.(*generated.ApiVersionsResponse)
	if !ok {
		return nil, fmt.Errorf("%s to %s: the answer is a %T", p, s.Address, m)
	}
	return answer, err
}
