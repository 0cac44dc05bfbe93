package e2e

import (
	"errors"
	"fmt"
	"testing"

	"github.com/IBM/sarama"
)

func TestSaramaClusterAdmin(t *testing.T) {
	t.Parallel()
	b := start(t)
	// Each of them speaks other versions of ApiVersions, Metadata, CreateTopics and
	// DeleteTopics.
	for i, version := range []sarama.KafkaVersion{sarama.V1_0_0_0, sarama.V2_0_0_0, sarama.V2_4_0_0, sarama.V2_8_0_0, sarama.V3_6_0_0, sarama.MaxVersion} {
		t.Run(version.String(), func(t *testing.T) {
			config := sarama.NewConfig()
			config.Version = version
			admin, err := sarama.NewClusterAdmin([]string{b.addr}, config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := admin.Close(); err != nil {
					t.Error(err)
				}
			}()
			topic := fmt.Sprintf("topic-%d", i)
			detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": text("3600000")}}
			if err := admin.CreateTopic(topic, detail, true); err != nil {
				t.Fatalf("validate: %v", err)
			}
			if err := admin.CreateTopic(topic, detail, false); err != nil {
				t.Fatalf("create: %v", err)
			}
			if err := admin.CreateTopic(topic, detail, false); !errors.Is(err, sarama.ErrTopicAlreadyExists) {
				t.Errorf("create again: %v", err)
			}
			described, err := admin.DescribeTopics([]string{topic})
			if err != nil || len(described) != 1 || len(described[0].Partitions) != 2 {
				t.Errorf("describe: %+v, %v", described, err)
			}
			brokers, controller, err := admin.DescribeCluster()
			if err != nil || len(brokers) != 1 || brokers[0].ID() != controller || brokers[0].Addr() != b.addr {
				t.Errorf("cluster: %v, controller %d, %v", brokers, controller, err)
			}
			if err := admin.DeleteTopic(topic); err != nil {
				t.Errorf("delete: %v", err)
			}
			if err := admin.DeleteTopic(topic); !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
				t.Errorf("delete again: %v", err)
			}
		})
	}
	b.alive()
}
