package handlers

import (
	"context"
	"maps"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// ApiVersions, key 18, versions 0 to 5.
//
//   - One row for each key in the registry, sorted; so nothing is advertised that
//     is not served, and nothing served is left out.
//   - Produce is advertised from version 0, though 3 is the lowest that is served:
//     librdkafka before the fix of its issue 4956 looks for version 0 and turns
//     compression off where it is missing. Kafka 4 does the same (KAFKA-18659).
//   - Versions that are not served are answered by the dispatcher, in the layout
//     of version 0 and with error 35 (KIP-511).
//   - It never asks Iggy, save for the cluster id that a version 5 request names:
//     clients connect while Iggy is away, and learn the rest from Metadata.
//
// Version history:
//
//	1  throttle time
//	3  flexible; the client says its name and version, which must match
//	   softwareName, else 42 (KIP-511); features as tags (KIP-584)
//	4  features may have 0 as their lowest version; below, such features are left
//	   out of the answer (KAFKA-17011)
//	5  the client may say which cluster and node it believes to speak to: both or
//	   neither, else 42; others than these are told to bootstrap anew with 129
//	   (KIP-1242)
var _ = register(generated.KeyApiVersions, 0, 5, (*Handlers).apiVersions)

const (
	// produceAdvertisedMin is the lowest version of Produce that is advertised,
	// not served.
	produceAdvertisedMin = 0

	// zeroFeaturesSince is the first version that may carry features whose lowest
	// version is 0.
	zeroFeaturesSince = 4

	// noNode and the null cluster id mean that the client did not say.
	noNode = -1
)

// feature is a feature of the cluster (KIP-584): the levels that the bridge
// could be at, and the one it is at, 0 for none.
type feature struct {
	name      string
	min, max  int16
	finalized int16
}

// featuresEpoch is the age of the list of features. Clients keep the features
// of the highest epoch they saw, so whoever changes the list raises it.
const featuresEpoch int64 = 3

// features are Kafka 4.4.0's as far as they hold here. kafka-features and other
// tools expect metadata.version among them, and take it for the release: 33 is
// what 4.4.0 has. The others are promises that clients act on: group.version
// tells that consumer groups (KIP-848) are coordinated here, share.version and
// streams.version say so of groups of these kinds. With transaction.version 2 a
// Java producer ends transactions in the way of KIP-890 and adds partitions by
// producing to them. They are added together with what they promise. kraft.version and
// eligible.leader.replicas.version speak of a quorum and of replicas, which
// there are none of.
var features = []feature{
	{name: "group.version", min: 0, max: 1, finalized: 1},
	{name: "metadata.version", min: 7, max: 33, finalized: 33},
	{name: "transaction.version", min: 0, max: 2, finalized: 2},
}

func (h *Handlers) apiVersions(ctx context.Context, req *Request, body *generated.ApiVersionsRequest) (generated.Message, error) {
	resp := generated.DefaultApiVersionsResponse()
	if resp.ErrorCode = h.checkClient(ctx, req.Version, body); resp.ErrorCode != errorcode.None {
		return &resp, nil
	}
	resp.ApiKeys = advertised()
	if req.Version >= 3 {
		addFeatures(&resp, features, req.Version)
	}
	return &resp, nil
}

// checkClient is the error code for what the client says of itself and of whom
// it expects here.
func (h *Handlers) checkClient(ctx context.Context, version int16, body *generated.ApiVersionsRequest) int16 {
	if version >= 3 && (!softwareName(body.ClientSoftwareName) || !softwareName(body.ClientSoftwareVersion)) {
		return errorcode.InvalidRequest
	}
	if version < 5 || !body.ClusterId.Valid && body.NodeId == noNode {
		return errorcode.None
	}
	if !body.ClusterId.Valid || body.NodeId == noNode {
		return errorcode.InvalidRequest
	}
	if body.NodeId != h.config.NodeID {
		return errorcode.RebootstrapRequired
	}
	// A cluster id that is not known yet is no reason to send clients away.
	if id, err := h.bridge.ClusterID(ctx); err == nil && id != body.ClusterId.S {
		return errorcode.RebootstrapRequired
	}
	return errorcode.None
}

// softwareName reports whether s may be the name or the version of a client's
// software: ASCII letters, digits, '-' and '.', of which the first and the last
// are letters or digits (KIP-511).
func softwareName(s string) bool {
	if s == "" || !letterOrDigit(s[0]) || !letterOrDigit(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !letterOrDigit(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// advertised are the rows of what the registry holds, by rising key.
func advertised() []generated.ApiVersionsResponseApiVersion {
	rows := make([]generated.ApiVersionsResponseApiVersion, 0, len(routes))
	for _, key := range slices.Sorted(maps.Keys(routes)) {
		r := routes[key]
		row := generated.ApiVersionsResponseApiVersion{ApiKey: key, MinVersion: r.min, MaxVersion: r.max}
		if key == generated.KeyProduce {
			row.MinVersion = produceAdvertisedMin
		}
		rows = append(rows, row)
	}
	return rows
}

// addFeatures lists the features that a version can carry.
func addFeatures(resp *generated.ApiVersionsResponse, list []feature, version int16) {
	resp.FinalizedFeaturesEpoch = featuresEpoch
	for _, f := range list {
		if f.min > 0 || version >= zeroFeaturesSince {
			resp.SupportedFeatures = append(resp.SupportedFeatures, generated.ApiVersionsResponseSupportedFeatureKey{
				Name: f.name, MinVersion: f.min, MaxVersion: f.max,
			})
		}
		if f.finalized > 0 {
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, generated.ApiVersionsResponseFinalizedFeatureKey{
				Name: f.name, MinVersionLevel: f.finalized, MaxVersionLevel: f.finalized,
			})
		}
	}
}
