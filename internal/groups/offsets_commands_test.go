package groups

import (
	"strconv"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

func init() {
	traceCommands["commit"] = traceCommit
	traceCommands["fetch"] = traceFetch
	traceCommands["delete-offsets"] = traceDeleteOffsets
	traceCommands["delete-group"] = traceDeleteGroup
	traceCommands["list"] = traceList
	traceCommands["describe"] = traceDescribe
	traceCommands["consumer-describe"] = traceConsumerDescribe
	traceCommands["recreate"] = traceRecreate
	beforeHandle = append(beforeHandle, resolveTopics, nameTopics)
}

// traceCommit sends OffsetCommit: "commit m1 orders:0@5 orders:1@7/3 version=9
// gen=1 id=m1-1 instance=i meta=text group=g retention=1000", where /3 is the
// leader epoch. Metadata is null unless given; a*5 stands for aaaaa. A client
// that joined commits as that member, others for nobody.
func traceCommit(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultOffsetCommitRequest()
	r.GroupId = c.opt("group", who.group)
	r.MemberId = c.opt("id", who.memberID)
	r.GenerationIdOrMemberEpoch = int32(c.num(w, "gen", int(who.generation)))
	r.GroupInstanceId = c.nullable("instance", who.instance)
	r.RetentionTimeMs = int64(c.num(w, "retention", -1))
	meta := metadataOption(w, c)
	version := int16(c.num(w, "version", 9))
	for _, arg := range c.args[1:] {
		topic, rest, _ := strings.Cut(arg, ":")
		partition, position, _ := strings.Cut(rest, "@")
		offset, epoch, hasEpoch := strings.Cut(position, "/")
		p := generated.DefaultOffsetCommitRequestPartition()
		p.PartitionIndex = int32(w.atoi(partition))
		p.CommittedOffset = int64(w.atoi(offset))
		if hasEpoch {
			p.CommittedLeaderEpoch = int32(w.atoi(epoch))
		}
		p.CommittedMetadata = meta
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Name == topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, p)
			continue
		}
		r.Topics = append(r.Topics, generated.OffsetCommitRequestTopic{
			Name: topic, Partitions: []generated.OffsetCommitRequestPartition{p},
		})
	}
	resolveTopics(w, &r)
	w.send(who, 8, version, &r)
}

// metadataOption reads meta=: null when it is not given.
func metadataOption(w *world, c *command) wire.NullString {
	text, ok := c.opts["meta"]
	if !ok {
		return wire.NullString{}
	}
	delete(c.opts, "meta")
	if unit, times, ok := strings.Cut(text, "*"); ok {
		text = strings.Repeat(unit, w.atoi(times))
	}
	return wire.String(text)
}

func (w *world) atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// resolveTopics names topics by both name and id, as handlers do.
func resolveTopics(w *world, body generated.Message) {
	r, ok := body.(*generated.OffsetCommitRequest)
	if !ok {
		return
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		if topic, ok := w.topics.ByID(t.TopicId); ok {
			t.Name = topic.Name
		} else if topic, ok := w.topics.ByName(t.Name); ok {
			t.TopicId = topic.ID
		}
	}
}

// nameTopics does so in fetches, which have ids from version 10 on.
func nameTopics(w *world, body generated.Message) {
	r, ok := body.(*generated.OffsetFetchRequest)
	if !ok {
		return
	}
	for i := range r.Groups {
		for j := range r.Groups[i].Topics {
			t := &r.Groups[i].Topics[j]
			if topic, ok := w.topics.ByID(t.TopicId); ok {
				t.Name = topic.Name
			}
		}
	}
}

// partitionsArg reads "orders:0,1".
func (w *world) partitionsArg(arg string) (topic string, partitions []int32) {
	topic, list, _ := strings.Cut(arg, ":")
	for p := range strings.SplitSeq(list, ",") {
		partitions = append(partitions, int32(w.atoi(p)))
	}
	return topic, partitions
}

// traceFetch sends OffsetFetch: "fetch x orders:0,1 version=9 group=g id=m1-1
// epoch=1 stable=1", without topics for all of them. It asks for nobody unless
// told otherwise; id=- is the empty member id, not null.
func traceFetch(w *world, c *command) {
	who := w.client(c.args[0])
	version := int16(c.num(w, "version", 9))
	r := generated.DefaultOffsetFetchRequest()
	r.RequireStable = c.opt("stable", "") != ""
	g := generated.DefaultOffsetFetchRequestGroup()
	g.GroupId = c.opt("group", who.group)
	g.MemberId = c.nullable("id", "")
	if g.MemberId.S == "-" {
		g.MemberId.S = ""
	}
	g.MemberEpoch = int32(c.num(w, "epoch", -1))
	g.Topics = nil
	for _, arg := range c.args[1:] {
		name, partitions := w.partitionsArg(arg)
		topic, _ := w.topics.ByName(name)
		g.Topics = append(g.Topics, generated.OffsetFetchRequestTopics{Name: name, TopicId: topic.ID, PartitionIndexes: partitions})
	}
	if version >= fetchGroupsVersion {
		r.Groups = []generated.OffsetFetchRequestGroup{g}
	} else {
		r.GroupId, r.Topics = g.GroupId, nil
		if version < fetchGroupErrorVersion {
			r.Topics = []generated.OffsetFetchRequestTopic{} // cannot be null
		}
		for _, t := range g.Topics {
			r.Topics = append(r.Topics, generated.OffsetFetchRequestTopic{Name: t.Name, PartitionIndexes: t.PartitionIndexes})
		}
	}
	w.send(who, 9, version, &r)
}

// traceDeleteOffsets sends OffsetDelete: "delete-offsets x orders:0,1 group=g".
func traceDeleteOffsets(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultOffsetDeleteRequest()
	r.GroupId = c.opt("group", who.group)
	for _, arg := range c.args[1:] {
		topic, partitions := w.partitionsArg(arg)
		t := generated.OffsetDeleteRequestTopic{Name: topic}
		for _, p := range partitions {
			t.Partitions = append(t.Partitions, generated.OffsetDeleteRequestPartition{PartitionIndex: p})
		}
		r.Topics = append(r.Topics, t)
	}
	w.send(who, 47, 0, &r)
}

// traceDeleteGroup sends DeleteGroups: "delete-group x group=g version=2".
func traceDeleteGroup(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultDeleteGroupsRequest()
	r.GroupsNames = []string{c.opt("group", who.group)}
	w.send(who, 42, int16(c.num(w, "version", 3)), &r)
}

// traceList sends ListGroups: "list x states=Empty,stable types=classic version=5".
// An underscore stands for a blank.
func traceList(w *world, c *command) {
	r := generated.DefaultListGroupsRequest()
	if states := c.opt("states", ""); states != "" {
		r.StatesFilter = strings.Split(strings.ReplaceAll(states, "_", " "), ",")
	}
	if types := c.opt("types", ""); types != "" {
		r.TypesFilter = strings.Split(strings.ReplaceAll(types, "_", " "), ",")
	}
	w.send(w.client(c.args[0]), 16, int16(c.num(w, "version", 5)), &r)
}

// traceDescribe sends DescribeGroups: "describe x group=g version=6".
func traceDescribe(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultDescribeGroupsRequest()
	r.Groups = []string{c.opt("group", who.group)}
	w.send(who, 15, int16(c.num(w, "version", 6)), &r)
}

// traceConsumerDescribe sends ConsumerGroupDescribe: "consumer-describe x group=g".
func traceConsumerDescribe(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultConsumerGroupDescribeRequest()
	r.GroupIds = []string{c.opt("group", who.group)}
	w.send(who, 69, int16(c.num(w, "version", 1)), &r)
}

// traceRecreate replaces a topic by another one of the same name: "recreate
// orders:3".
func traceRecreate(w *world, c *command) {
	name, partitions, _ := strings.Cut(c.args[0], ":")
	topics := []Topic{{Name: name, ID: topicID("new-" + name), Partitions: int32(w.atoi(partitions))}}
	for _, other := range w.topics.Names() {
		if t, _ := w.topics.ByName(other); other != name {
			topics = append(topics, t)
		}
	}
	w.topics = NewTopicSet(topics)
}
