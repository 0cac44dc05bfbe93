package access

// Operation is a kind of request that needs grants.
type Operation int

// The operations that the commands come down to.
const (
	ReadServer       Operation = iota // stats, other clients
	SeeUsers                          // users other than oneself
	ChangeUsers                       // create, change, delete users
	SeeStream                         // one stream
	ListStreams                       // all streams
	AddStream                         // create a stream
	ChangeStream                      // update, delete, purge a stream
	SeeTopic                          // one topic, and everything about its groups
	ListTopics                        // all topics of a stream
	AddTopic                          // create a topic
	ChangeTopic                       // update, delete, purge a topic, its partitions and segments
	ReadMessages                      // poll, and consumers' offsets
	WriteMessages                     // send and flush
	operationsNumber                  // how many there are
)

// rule names the grants of each level any one of which suffices.
type rule struct{ global, stream, topic uint16 }

const (
	anyStreams      = ManageStreams | ReadStreams
	anyTopics       = ManageTopics | ReadTopics
	anyOnStream     = StreamManage | StreamRead
	anyStreamTopics = StreamManageTopics | StreamReadTopics
)

var rules = [operationsNumber]rule{
	ReadServer:    {global: ManageServers | ReadServers},
	SeeUsers:      {global: ManageUsers | ReadUsers},
	ChangeUsers:   {global: ManageUsers},
	SeeStream:     {global: anyStreams, stream: anyOnStream},
	ListStreams:   {global: anyStreams},
	AddStream:     {global: ManageStreams},
	ChangeStream:  {global: ManageStreams, stream: StreamManage},
	SeeTopic:      {global: anyStreams | anyTopics, stream: anyOnStream | anyStreamTopics, topic: TopicManage | TopicRead},
	ListTopics:    {global: anyStreams | anyTopics, stream: anyOnStream | anyStreamTopics},
	AddTopic:      {global: ManageStreams | ManageTopics, stream: StreamManage | StreamManageTopics},
	ChangeTopic:   {global: ManageStreams | ManageTopics, stream: StreamManage | StreamManageTopics, topic: TopicManage},
	ReadMessages:  {global: PollMessages | anyStreams | anyTopics, stream: StreamPoll | anyOnStream | anyStreamTopics, topic: TopicPoll | TopicRead | TopicManage},
	WriteMessages: {global: SendMessages | ManageStreams | ManageTopics, stream: StreamSend | StreamManage | StreamManageTopics, topic: TopicSend | TopicManage},
}

// Allows reports whether the permissions suffice for an operation that no stream is
// concerned by.
func (p *Permissions) Allows(op Operation) bool {
	return p != nil && p.Global&rules[op].global != 0
}

// AllowsStream reports whether the permissions suffice for an operation on a stream.
func (p *Permissions) AllowsStream(op Operation, stream uint32) bool {
	if p == nil {
		return false
	}
	r := &rules[op]
	return p.Global&r.global != 0 || p.Streams[stream].Grants&r.stream != 0
}

// AllowsTopic reports whether the permissions suffice for an operation on a topic.
func (p *Permissions) AllowsTopic(op Operation, stream, topic uint32) bool {
	if p == nil {
		return false
	}
	r := &rules[op]
	if p.Global&r.global != 0 {
		return true
	}
	if len(p.Streams) == 0 {
		return false
	}
	s := p.Streams[stream]
	return s.Grants&r.stream != 0 || s.Topics[topic]&r.topic != 0
}
