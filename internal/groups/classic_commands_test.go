package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

func init() {
	traceCommands["join"] = traceJoin
	traceCommands["sync"] = traceSync
	traceCommands["heartbeat"] = traceHeartbeat
	traceCommands["leave"] = traceLeave
	traceCommands["state"] = traceState
	onAnswer = append(onAnswer, learnClassic)
}

// learnClassic takes over member id and generation, as clients do.
func learnClassic(c *client, answer generated.Message) {
	a, ok := answer.(*generated.JoinGroupResponse)
	if !ok {
		return
	}
	switch a.ErrorCode {
	case errorcode.None:
		c.memberID, c.generation, c.leader = a.MemberId, a.GenerationId, a.Leader
		c.protocolType, c.protocol = a.ProtocolType.S, a.ProtocolName.S
		if !a.ProtocolType.Valid {
			c.protocolType = consumerProtocolType
		}
		c.members = nil
		for _, m := range a.Members {
			c.members = append(c.members, m.MemberId)
		}
	case errorcode.MemberIDRequired:
		c.memberID = a.MemberId
	}
}

// traceJoin sends JoinGroup: "join m1 version=9 protocols=range,sticky topics=a,b
// session=10s rebalance=1m instance=i id=m1-1 type=consumer group=g". id= joins
// without member id. metadata= replaces the subscription to topics.
func traceJoin(w *world, c *command) {
	who := w.client(c.args[0])
	who.group = c.opt("group", who.group)
	who.instance = c.opt("instance", who.instance)
	r := generated.DefaultJoinGroupRequest()
	r.GroupId = who.group
	r.MemberId = c.opt("id", who.memberID)
	r.SessionTimeoutMs = c.ms(w, "session", "10s")
	r.RebalanceTimeoutMs = c.ms(w, "rebalance", "1m")
	r.GroupInstanceId = wire.NullString{S: who.instance, Valid: who.instance != ""}
	r.ProtocolType = c.opt("type", consumerProtocolType)
	r.Reason = c.nullable("reason", "")
	metadata := subscription(w, strings.Split(c.opt("topics", "t"), ","))
	if text := c.opt("metadata", ""); text != "" {
		metadata = []byte(text)
	}
	for name := range strings.SplitSeq(c.opt("protocols", "range"), ",") {
		if name != "" {
			r.Protocols = append(r.Protocols, generated.JoinGroupRequestProtocol{Name: name, Metadata: metadata})
		}
	}
	w.send(who, 11, int16(c.num(w, "version", 9)), &r)
}

// subscription is what a consumer says in each of its protocols.
func subscription(w *world, topics []string) []byte {
	m := generated.DefaultConsumerProtocolSubscription()
	m.Topics = topics
	b, err := m.Append([]byte{0, 0}, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// traceSync sends SyncGroup: "sync m1 version=5 gen=1 assign=m1-1:a,m2-2:b
// type=consumer protocol=range". A leader assigns each member its own id unless
// told otherwise.
func traceSync(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultSyncGroupRequest()
	r.GroupId = c.opt("group", who.group)
	r.MemberId = c.opt("id", who.memberID)
	r.GroupInstanceId = c.nullable("instance", who.instance)
	r.GenerationId = int32(c.num(w, "gen", int(who.generation)))
	version := int16(c.num(w, "version", 5))
	protocolType, protocol := c.nullable("type", who.protocolType), c.nullable("protocol", who.protocol)
	if version >= syncProtocolVersion {
		r.ProtocolType, r.ProtocolName = protocolType, protocol
	}
	if assign := c.opt("assign", ""); assign != "" {
		for pair := range strings.SplitSeq(assign, ",") {
			id, to, _ := strings.Cut(pair, ":")
			r.Assignments = append(r.Assignments, generated.SyncGroupRequestAssignment{MemberId: id, Assignment: []byte(to)})
		}
	} else {
		for _, id := range who.members {
			r.Assignments = append(r.Assignments, generated.SyncGroupRequestAssignment{MemberId: id, Assignment: []byte("for " + id)})
		}
	}
	w.send(who, 14, version, &r)
}

// traceHeartbeat sends Heartbeat: "heartbeat m1 version=4 gen=1 id=m1-1".
func traceHeartbeat(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultHeartbeatRequest()
	r.GroupId = c.opt("group", who.group)
	r.MemberId = c.opt("id", who.memberID)
	r.GroupInstanceId = c.nullable("instance", who.instance)
	r.GenerationId = int32(c.num(w, "gen", int(who.generation)))
	w.send(who, 12, int16(c.num(w, "version", 4)), &r)
}

// traceLeave sends LeaveGroup: "leave m1" for itself, and "leave admin
// members=m1-1,/i,m2-2/j" for members by id, instance or both.
func traceLeave(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultLeaveGroupRequest()
	r.GroupId = c.opt("group", who.group)
	version := int16(c.num(w, "version", 5))
	reason := c.nullable("reason", "")
	if version < 5 {
		reason = wire.NullString{}
	}
	members := c.opt("members", who.memberID+"/"+who.instance)
	if version < leaveManyVersion {
		r.MemberId = c.opt("id", who.memberID)
	} else {
		for pair := range strings.SplitSeq(members, ",") {
			id, instance, _ := strings.Cut(pair, "/")
			r.Members = append(r.Members, generated.LeaveGroupRequestMemberIdentity{
				MemberId: id, GroupInstanceId: wire.NullString{S: instance, Valid: instance != ""}, Reason: reason,
			})
		}
	}
	w.send(who, 13, version, &r)
}

// traceState prints a group as DescribeGroups shows it: "state g".
func traceState(w *world, c *command) {
	id := "g"
	if len(c.args) > 0 {
		id = c.args[0]
	}
	g, ok := w.shard.groups[id].(*classicGroup)
	if !ok {
		w.printf("no classic group\n")
		return
	}
	d := generated.DefaultDescribeGroupsResponseDescribedGroup()
	g.describe(&d)
	w.printf("generation %d leader %q %s\n", g.generation, g.leader, d.GroupState)
	for _, m := range d.Members {
		w.printf("  %s%s %q\n", m.MemberId, showInstance(m.GroupInstanceId), m.MemberAssignment)
	}
	for pending := range g.pending {
		w.printf("  pending %s\n", pending)
	}
}

func showInstance(s wire.NullString) string {
	if !s.Valid {
		return ""
	}
	return "/" + s.S
}
