package handlers

import (
	"testing"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

func clientVersions(change func(*generated.ApiVersionsRequest)) *generated.ApiVersionsRequest {
	req := generated.DefaultApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "some-client", "1.2.3"
	if change != nil {
		change(&req)
	}
	return &req
}

func TestApiVersionsAdvertisesTheRegistry(t *testing.T) {
	t.Parallel()
	f := newAdminAt(t, bridge.Config{Address: nowhere(t), Username: "iggy", Password: "iggy"}, nil)
	for version := int16(0); version <= 5; version++ {
		answer, err := f.ask(generated.KeyApiVersions, version, clientVersions(nil))
		if err != nil {
			t.Fatalf("v%d, while Iggy is away: %v", version, err)
		}
		resp := answer.(*generated.ApiVersionsResponse)
		if resp.ErrorCode != 0 || len(resp.ApiKeys) != len(routes) || resp.ThrottleTimeMs != 0 {
			t.Fatalf("v%d: %+v; %d keys are served", version, resp, len(routes))
		}
		for i, row := range resp.ApiKeys {
			if i > 0 && resp.ApiKeys[i-1].ApiKey >= row.ApiKey {
				t.Errorf("v%d: key %d comes behind %d", version, row.ApiKey, resp.ApiKeys[i-1].ApiKey)
			}
			endpoint, ok := f.h.Lookup(row.ApiKey)
			if row.ApiKey == generated.KeyProduce {
				endpoint.Min = 0 // lest librdkafka send uncompressed
			}
			if !ok || row.MinVersion != endpoint.Min || row.MaxVersion != endpoint.Max {
				t.Errorf("v%d: %+v is advertised, %d to %d served", version, row, endpoint.Min, endpoint.Max)
			}
		}
	}
}

func TestApiVersionsFeatures(t *testing.T) {
	t.Parallel()
	list := []feature{
		{name: "from-zero", min: 0, max: 2, finalized: 1},
		{name: "off", min: 0, max: 1},
		{name: "from-seven", min: 7, max: 9, finalized: 8},
	}
	for version := int16(3); version <= 5; version++ {
		resp := generated.DefaultApiVersionsResponse()
		addFeatures(&resp, list, version)
		wantSupported := 3
		if version < 4 {
			wantSupported = 1
		}
		if len(resp.SupportedFeatures) != wantSupported {
			t.Errorf("v%d: features that begin at 0 are for versions from 4 on: %+v", version, resp.SupportedFeatures)
		}
		if len(resp.FinalizedFeatures) != 2 || resp.FinalizedFeatures[0].MaxVersionLevel != 1 || resp.FinalizedFeatures[1].MinVersionLevel != 8 {
			t.Errorf("v%d: finalized %+v", version, resp.FinalizedFeatures)
		}
		if resp.FinalizedFeaturesEpoch != featuresEpoch {
			t.Errorf("v%d: epoch %d", version, resp.FinalizedFeaturesEpoch)
		}
	}
	for _, f := range features {
		if f.min > f.finalized && f.finalized != 0 || f.finalized > f.max {
			t.Errorf("%+v is at a level that it does not support", f)
		}
	}
}

func TestApiVersionsOfAClientThatErrs(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, func(c *Config, _ *bridge.Config) { c.NodeID = 3 })
	cluster := f.metadata(12, nil).ClusterId.S
	cases := []struct {
		reason  string
		version int16
		change  func(*generated.ApiVersionsRequest)
		want    int16
	}{
		{"a name is mandatory from version 3 on", 3, func(r *generated.ApiVersionsRequest) { r.ClientSoftwareName = "" }, 42},
		{"and so is a version", 4, func(r *generated.ApiVersionsRequest) { r.ClientSoftwareVersion = "" }, 42},
		{"before, neither is", 2, func(r *generated.ApiVersionsRequest) { r.ClientSoftwareName = "" }, 0},
		{"a slash is not allowed", 3, func(r *generated.ApiVersionsRequest) { r.ClientSoftwareName = "a/b" }, 42},
		{"a version with a plus is not allowed", 3, func(r *generated.ApiVersionsRequest) { r.ClientSoftwareVersion = "1+2" }, 42},
		{"one letter is enough", 3, func(r *generated.ApiVersionsRequest) { r.ClientSoftwareName = "x" }, 0},
		{"neither cluster nor node", 5, nil, 0},
		{"this cluster and this node", 5, func(r *generated.ApiVersionsRequest) { r.ClusterId, r.NodeId = wire.String(cluster), 3 }, 0},
		{"a cluster without a node", 5, func(r *generated.ApiVersionsRequest) { r.ClusterId = wire.String(cluster) }, 42},
		{"a node without a cluster", 5, func(r *generated.ApiVersionsRequest) { r.NodeId = 3 }, 42},
		{"another cluster", 5, func(r *generated.ApiVersionsRequest) { r.ClusterId, r.NodeId = wire.String("x"), 3 }, 129},
		{"an empty cluster id is another one", 5, func(r *generated.ApiVersionsRequest) { r.ClusterId, r.NodeId = wire.String(""), 3 }, 129},
		{"another node", 5, func(r *generated.ApiVersionsRequest) { r.ClusterId, r.NodeId = wire.String(cluster), 4 }, 129},
		{"node -2 is another one", 5, func(r *generated.ApiVersionsRequest) { r.ClusterId, r.NodeId = wire.String(cluster), -2 }, 129},
		{"a bad name weighs more than another node", 5, func(r *generated.ApiVersionsRequest) {
			r.ClientSoftwareName, r.ClusterId, r.NodeId = "", wire.String(cluster), 4
		}, 42},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			answer, err := f.ask(generated.KeyApiVersions, c.version, clientVersions(c.change))
			if err != nil {
				t.Fatal(err)
			}
			resp := answer.(*generated.ApiVersionsResponse)
			if resp.ErrorCode != c.want || (len(resp.ApiKeys) == 0) != (c.want != 0) || c.want != 0 && len(resp.FinalizedFeatures) != 0 {
				t.Errorf("code %d with %d keys, want %d", resp.ErrorCode, len(resp.ApiKeys), c.want)
			}
		})
	}
}

func TestApiVersionsWhileTheClusterIdIsNotKnown(t *testing.T) {
	t.Parallel()
	f := newAdminAt(t, bridge.Config{Address: nowhere(t), Username: "iggy", Password: "iggy"}, nil)
	answer, err := f.ask(generated.KeyApiVersions, 5, clientVersions(func(r *generated.ApiVersionsRequest) { r.ClusterId, r.NodeId = wire.String("any"), 1 }))
	if err != nil || answer.(*generated.ApiVersionsResponse).ErrorCode != 0 {
		t.Errorf("a client is sent away: %+v, %v", answer, err)
	}
}
