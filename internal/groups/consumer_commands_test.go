package groups

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

func init() {
	traceCommands["beat"] = traceBeat
	traceCommands["members"] = traceMembers
	traceCommands["describe-consumer"] = traceDescribeConsumer
	traceCommands["may-commit"] = traceMayCommit
	traceCommands["may-fetch"] = traceMayFetch
	traceCommands["rejoin"] = traceRejoin
	traceCommands["assign"] = traceAssign
	traceCommands["interval"] = traceInterval
	onAnswer = append(onAnswer, learnConsumer)
}

// consumerClient is what a client of the consumer protocol knows.
type consumerClient struct {
	epoch int32
	owned []generated.ConsumerGroupHeartbeatRequestTopicPartitions
}

func (c *client) consumer() *consumerClient {
	s, ok := c.state.(*consumerClient)
	if !ok {
		s = &consumerClient{}
		c.state = s
	}
	return s
}

// learnConsumer takes over epoch and assignment, as clients do. A fenced client
// gives up what it has and joins again.
func learnConsumer(c *client, answer generated.Message) {
	a, ok := answer.(*generated.ConsumerGroupHeartbeatResponse)
	s, mine := c.state.(*consumerClient)
	if !ok || !mine {
		return
	}
	switch a.ErrorCode {
	case errorcode.None:
		c.memberID, s.epoch = a.MemberId.S, max(a.MemberEpoch, 0)
		if a.MemberEpoch < 0 {
			s.owned = nil
		}
		if a.Assignment != nil {
			s.owned = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
			for _, t := range a.Assignment.TopicPartitions {
				s.owned = append(s.owned, generated.ConsumerGroupHeartbeatRequestTopicPartitions{TopicId: t.TopicId, Partitions: t.Partitions})
			}
		}
	case errorcode.FencedMemberEpoch, errorcode.UnknownMemberID:
		s.epoch, s.owned = 0, nil
	}
}

// traceBeat sends ConsumerGroupHeartbeat: "beat m1 topics=a,b regex=x.* id=m1
// epoch=3 owned=a:0,1;b:2 rebalance=1m assignor=range rack=r instance=i
// version=1 group=g". "beat m1 owned" says what the last answer gave, "none" that
// it owns nothing, "full" everything; "-" is the empty list of topics. With epoch
// 0 the member joins, with all that needs.
func traceBeat(w *world, c *command) {
	who := w.client(c.args[0])
	words := c.args[1:]
	s := who.consumer()
	who.group, who.instance = c.opt("group", who.group), c.opt("instance", who.instance)
	if who.memberID == "" {
		who.memberID = who.name
	}
	r := generated.DefaultConsumerGroupHeartbeatRequest()
	r.GroupId = who.group
	r.MemberId = strings.TrimSuffix(c.opt("id", who.memberID), "-")
	r.MemberEpoch = int32(c.num(w, "epoch", int(s.epoch)))
	r.InstanceId = blankable(wire.NullString{S: who.instance, Valid: who.instance != ""})
	joins := r.MemberEpoch == joinEpoch && !slices.Contains(words, "bare")
	full := slices.Contains(words, "full")
	r.RackId = blankable(c.nullable("rack", ""))
	if rebalance := c.opt("rebalance", ""); rebalance != "" || joins || full {
		if rebalance == "" {
			rebalance = "1m"
		}
		c.opts["rebalance"] = rebalance
		r.RebalanceTimeoutMs = c.ms(w, "rebalance", "")
	}
	r.SubscribedTopicRegex = blankable(c.nullable("regex", ""))
	topics := c.opt("topics", "")
	if topics == "" && (joins || full) && !r.SubscribedTopicRegex.Valid {
		topics = "t"
	}
	if topics != "" {
		r.SubscribedTopicNames = strings.FieldsFunc(strings.Trim(topics, "-"), func(c rune) bool { return c == ',' })
	}
	r.ServerAssignor = c.nullable("assignor", "")
	switch owned := c.opt("owned", ""); {
	case owned != "":
		r.TopicPartitions = parseOwned(w, owned)
	case slices.Contains(words, "owned") || full:
		r.TopicPartitions = s.owned
	case joins || slices.Contains(words, "none"):
		r.TopicPartitions = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
	}
	w.send(who, 68, int16(c.num(w, "version", 1)), &r)
}

// blankable is an option of which "-" is the empty string.
func blankable(s wire.NullString) wire.NullString {
	s.S = strings.TrimSuffix(s.S, "-")
	return s
}

// parseOwned reads "a:0,1;b:2".
func parseOwned(w *world, text string) []generated.ConsumerGroupHeartbeatRequestTopicPartitions {
	owned := []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
	for name, partitions := range topicPartitions(w, text) {
		owned = append(owned, generated.ConsumerGroupHeartbeatRequestTopicPartitions{TopicId: topicID(name), Partitions: partitions})
	}
	return owned
}

// topicPartitions yields the topics of "a:0,1;b:2".
func topicPartitions(w *world, text string) func(yield func(string, []int32) bool) {
	return func(yield func(string, []int32) bool) {
		for part := range strings.SplitSeq(text, ";") {
			name, list, _ := strings.Cut(part, ":")
			var partitions []int32
			for p := range strings.SplitSeq(list, ",") {
				n, err := strconv.Atoi(p)
				if err != nil {
					w.t.Fatal(err)
				}
				partitions = append(partitions, int32(n))
			}
			if !yield(name, partitions) {
				return
			}
		}
	}
}

// traceMembers prints a consumer group with its members and their states.
func traceMembers(w *world, c *command) {
	g, ok := w.shard.groups[c.opt("group", "g")].(*consumerGroup)
	if !ok {
		w.printf("no consumer group\n")
		return
	}
	w.printf("%s, epoch %d, assignment epoch %d\n", g.state(), g.epoch, g.assignmentEpoch)
	states := map[memberState]string{memberStable: "stable", memberUnrevoked: "unrevoked", memberUnreleased: "unreleased", memberUnknown: "unknown"}
	for _, id := range sortedKeys(g.members) {
		m := g.members[id]
		w.printf("  %s%s epoch %d (%d) %s%s", id, showInstance(m.instanceID), m.epoch, m.previousEpoch, states[m.state], showOwnership(" has", m.assigned))
		if len(m.revoking) > 0 {
			w.printf("%s", showOwnership(" gives up", m.revoking))
		}
		if m.classic != nil {
			w.printf(" classic")
		}
		w.printf("\n")
	}
}

func showOwnership(what string, o ownership) string {
	var b strings.Builder
	b.WriteString(what)
	for _, id := range topicIDs(o) {
		fmt.Fprintf(&b, " %s", showTopicID(id))
		for i, p := range o[id] {
			sep := ","
			if i == 0 {
				sep = ":"
			}
			fmt.Fprintf(&b, "%s%d@%d", sep, p.partition, p.epoch)
		}
	}
	return b.String()
}

// traceDescribeConsumer sends ConsumerGroupDescribe.
func traceDescribeConsumer(w *world, c *command) {
	who := w.client(c.args[0])
	w.send(who, 69, int16(c.num(w, "version", 1)), &generated.ConsumerGroupDescribeRequest{GroupIds: []string{c.opt("group", who.group)}})
}

// traceMayCommit prints whether a member may commit: "may-commit m1 epoch=3
// version=9 partitions=a:0,1 id= txn".
func traceMayCommit(w *world, c *command) {
	who := w.client(c.args[0])
	check := commitCheck{
		memberID: strings.TrimSuffix(c.opt("id", who.memberID), "-"),
		epoch:    int32(c.num(w, "epoch", int(who.consumer().epoch))),
		version:  int16(c.num(w, "version", 9)),
		txn:      slices.Contains(c.args, "txn"),
	}
	text := c.opt("partitions", "t:0")
	check.partitions = func(yield func(wire.UUID, int32) bool) {
		for name, partitions := range topicPartitions(w, text) {
			for _, p := range partitions {
				if !yield(topicID(name), p) {
					return
				}
			}
		}
	}
	w.printf("%s\n", errorcode.Name(w.shard.groups[who.group].checkCommit(&check)))
}

// traceMayFetch prints whether offsets may be fetched: "may-fetch m1 epoch=3".
func traceMayFetch(w *world, c *command) {
	who := w.client(c.args[0])
	id := strings.TrimSuffix(c.opt("id", who.memberID), "-")
	epoch := int32(c.num(w, "epoch", int(who.consumer().epoch)))
	w.printf("%s\n", errorcode.Name(w.shard.groups[who.group].checkFetch(id, epoch)))
}

// traceRejoin sends JoinGroup of a consumer that says what it owns: "rejoin c1
// topics=a,b owned=a:0;b:1 protocols=range version=9 rack=r".
func traceRejoin(w *world, c *command) {
	who := w.client(c.args[0])
	sub := generated.DefaultConsumerProtocolSubscription()
	sub.Topics = strings.Split(c.opt("topics", "t"), ",")
	sub.RackId = c.nullable("rack", "")
	if owned := c.opt("owned", ""); owned != "" {
		for name, partitions := range topicPartitions(w, owned) {
			sub.OwnedPartitions = append(sub.OwnedPartitions, generated.ConsumerProtocolSubscriptionTopicPartition{Topic: name, Partitions: partitions})
		}
	}
	metadata, err := sub.Append([]byte{0, 3}, 3)
	if err != nil {
		w.t.Fatal(err)
	}
	who.instance = c.opt("instance", who.instance)
	r := generated.DefaultJoinGroupRequest()
	r.GroupId = who.group
	r.MemberId = strings.TrimSuffix(c.opt("id", who.memberID), "-")
	r.GroupInstanceId = c.nullable("instance", who.instance)
	r.SessionTimeoutMs, r.RebalanceTimeoutMs = c.ms(w, "session", "10s"), c.ms(w, "rebalance", "1m")
	r.ProtocolType = consumerProtocolType
	for name := range strings.SplitSeq(c.opt("protocols", "range"), ",") {
		r.Protocols = append(r.Protocols, generated.JoinGroupRequestProtocol{Name: name, Metadata: metadata})
	}
	w.send(who, 11, int16(c.num(w, "version", 9)), &r)
}

// traceAssign sends the SyncGroup of a classic leader with real assignments:
// "assign c1 c1-1=t:0,1 c2-2=t:2", or with user data "data=x".
func traceAssign(w *world, c *command) {
	who := w.client(c.args[0])
	data := c.opt("data", "")
	r := generated.DefaultSyncGroupRequest()
	r.GroupId, r.MemberId, r.GenerationId = who.group, who.memberID, who.generation
	r.GroupInstanceId = wire.NullString{S: who.instance, Valid: who.instance != ""}
	r.ProtocolType, r.ProtocolName = wire.String(who.protocolType), wire.String(who.protocol)
	for _, id := range sortedKeys(c.opts) {
		a := generated.DefaultConsumerProtocolAssignment()
		if data != "" {
			a.UserData = []byte(data)
		}
		for name, partitions := range topicPartitions(w, c.opts[id]) {
			a.AssignedPartitions = append(a.AssignedPartitions, generated.ConsumerProtocolAssignmentTopicPartition{Topic: name, Partitions: partitions})
		}
		b, err := a.Append([]byte{0, 0}, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		r.Assignments = append(r.Assignments, generated.SyncGroupRequestAssignment{MemberId: id, Assignment: b})
	}
	clear(c.opts)
	w.send(who, 14, 5, &r)
}

// traceInterval sets the least time between two assignments.
func traceInterval(w *world, c *command) {
	c.opts["interval"] = c.args[0]
	w.config.ConsumerAssignmentInterval = millis(c.ms(w, "interval", ""))
	w.load()
}

// showEmbedded writes messages of the embedded consumer protocol.
func showEmbedded(b []byte) (string, bool) {
	if a, err := decodeAssignment(b); err == nil && len(a.AssignedPartitions) > 0 {
		var topics []string
		for _, t := range a.AssignedPartitions {
			topics = append(topics, fmt.Sprint(t.Topic, t.Partitions))
		}
		return fmt.Sprintf("assigned(%s)", strings.Join(topics, " ")), true
	}
	if len(b) > 2 && b[1] > 0 {
		if s, err := decodeSubscription(b); err == nil && len(s.Topics) > 0 {
			return fmt.Sprintf("topics(%s) owned%v", strings.Join(s.Topics, ","), s.OwnedPartitions), true
		}
	}
	return "", false
}
