package sample

import "kafka-iggy-bridge/internal/wire"

// What a rule may say besides a value.
type (
	keep  struct{} // the default of the spec
	null  struct{} // null where the version allows it, else the default
	empty struct{} // an array without elements
	batch struct{} // a record batch of a producer

	// before is a rule for the versions below one; others have none.
	before struct {
		version int16
		rule    any
	}
)

// nobody is a broker's id that no cluster has.
const nobody = 1_000_000

// mostlyDefault are requests of which only the fields with a rule are filled:
// their structs are so bound to each other that one element of each would not be
// taken.
var mostlyDefault = []string{"StreamsGroupHeartbeat", "StreamsGroupTopologyDescriptionUpdate"}

// harmless are requests that may name a topic which is there: they read, append
// or commit.
var harmless = []string{"Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "OffsetForLeaderEpoch",
	"TxnOffsetCommit", "DescribeLogDirs", "DescribeProducers", "DescribeTopicPartitions", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat"}

// rules say what a server can take in a field, by its name or by API and name.
// The names are those of the Go structs.
var rules = map[string]any{
	// Waits, in ms, and limits.
	"TimeoutMs": 1000, "MaxWaitMs": 100, "MinBytes": 1, "MaxBytes": 1 << 20, "PartitionMaxBytes": 1 << 20,
	"SessionTimeoutMs": 10_000, "RebalanceTimeoutMs": 10_000, "TransactionTimeoutMs": 60_000,
	"MaxLifetimeMs": 3_600_000, "RenewPeriodMs": 3_600_000, "ExpiryTimePeriodMs": 3_600_000, "RetentionTimeMs": -1,
	"MaxRecords": 1, "BatchSize": 1, "ResponsePartitionLimit": 100,

	// Nothing is to be created or changed.
	"ValidateOnly": true, "AllowAutoTopicCreation": false,
	// Naming a topic creates it in versions without a flag against that.
	"Metadata.Topics": before{4, null{}},
	"BrokerId":        nobody, "VoterId": nobody, "ControllerId": nobody, "CandidateId": nobody, "LeaderId": nobody, "BrokerIds": nobody,
	"CreateTopics.Name": "kafka-tool-new", "CreateTopics.NumPartitions": 1, "CreateTopics.ReplicationFactor": 1,
	"CreateTopics.Assignments": empty{}, "CreateTopics.Configs": empty{},
	"CreatePartitions.Count": 2, "CreatePartitions.Assignments": null{},
	"AlterPartitionReassignments.Replicas": null{}, "ListPartitionReassignments.Topics": null{},
	"DeleteTopics.TopicId": wire.UUID{}, "AlterUserScramCredentials.Upsertions": empty{},
	"UpdateFeatures.Feature": "kafka.tool", "MaxVersionLevel": 1, "UpgradeType": 1,

	// Consumers and producers without an identity of their own.
	"Acks": -1, "ReplicaId": -1, "Records": batch{}, "ProducerId": -1, "ProducerEpoch": -1,
	"Produce.TransactionalId": null{}, "InitProducerId.TransactionalId": null{},
	"CurrentLeaderEpoch": -1, "CommittedLeaderEpoch": -1, "LastFetchedEpoch": -1, "LogStartOffset": -1,
	"SessionEpoch": -1, "ForgottenTopicsData": empty{}, "RackId": keep{}, "ClusterId": keep{},
	"ListOffsets.Timestamp": -1, "Metadata.TopicId": wire.UUID{}, "DescribeTopicPartitions.Cursor": null{},
	"AcknowledgeTypes": 1, "AcknowledgementBatches": empty{},

	// Groups.
	"GroupInstanceId": null{}, "InstanceId": null{}, "JoinGroup.MemberId": "", "JoinGroup.ProtocolType": "consumer",
	"JoinGroup.Name": "range", "JoinGroup.Metadata": []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
	"SyncGroup.ProtocolType": "consumer", "SyncGroup.ProtocolName": "range",
	"OffsetCommit.MemberId": "", "OffsetCommit.GenerationIdOrMemberEpoch": -1,
	"TxnOffsetCommit.MemberId": "", "TxnOffsetCommit.GenerationIdOrMemberEpoch": -1,
	"OffsetFetch.MemberId": null{}, "OffsetFetch.MemberEpoch": -1,
	"ConsumerGroupHeartbeat.TopicPartitions": empty{}, "ServerAssignor": null{}, "SubscribedTopicRegex": null{},
	"StreamsGroupHeartbeat.GroupId": "kafka-tool-streams", "StreamsGroupHeartbeat.MemberId": "kafka-tool-member",
	"StreamsGroupTopologyDescriptionUpdate.GroupId":  "kafka-tool-streams",
	"StreamsGroupTopologyDescriptionUpdate.MemberId": "kafka-tool-member",

	// Filters that list everything, where that is a reading.
	"StatesFilter": empty{}, "TypesFilter": empty{}, "StateFilters": empty{}, "ProducerIdFilters": empty{},
	"DurationFilter": -1, "TransactionalIdPattern": null{}, "ResourceTypes": empty{}, "ConfigurationKeys": null{},
	"EndpointType": 1, "DescribeDelegationToken.Owners": null{}, "DescribeUserScramCredentials.Users": null{},

	// Access control, configs and quotas: resource type topic, pattern literal,
	// any operation, allow.
	"ResourceType": 2, "ResourceTypeFilter": 2, "ResourcePatternType": 3, "PatternTypeFilter": 3, "Operation": 2, "PermissionType": 3,
	"CreateAcls.Principal": "User:kafka-tool", "PrincipalFilter": "User:kafka-tool", "CreateAcls.Host": "*", "HostFilter": "*",
	"PrincipalType": "User", "OwnerPrincipalType": null{}, "OwnerPrincipalName": null{},
	"AlterConfigs.Name": "retention.ms", "AlterConfigs.Value": "86400000",
	"IncrementalAlterConfigs.Name": "retention.ms", "IncrementalAlterConfigs.Value": "86400000",
	"EntityType": "user", "AlterClientQuotas.Key": "producer_byte_rate", "AlterClientQuotas.Value": 1024.0, "AlterUserScramCredentials.Mechanism": 1,

	// The connection itself.
	"ClientSoftwareName": "kafka-tool", "ClientSoftwareVersion": "1.0.0", "NodeId": keep{},
	"SaslHandshake.Mechanism": "PLAIN", "AuthBytes": []byte("\x00kafka-tool\x00kafka-tool"),
	"GetTelemetrySubscriptions.ClientInstanceId": wire.UUID{},
}
