package groups

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"kafka-iggy-bridge/internal/errorcode"
)

// regexMinInterval is how long the topics of regular expressions are not looked
// up again, whatever changes: many members or topics may come at once.
const regexMinInterval = 10 * time.Second

// resolvedRegex are the topics that a regular expression matched.
type resolvedRegex struct {
	topics []string // sorted
	// version is that of the topics that were looked at, at the time in ms.
	version, at int64
}

// regexChange is what a request did to a member's regular expression.
type regexChange int8

const (
	regexSame regexChange = iota
	// regexUnresolved is a new one of which the topics are not known yet.
	regexUnresolved
	// regexResolved is one, or none, of which the topics are known.
	regexResolved
)

// checkRegex refuses what is no regular expression of RE2's syntax.
func checkRegex(regex string) *refusal {
	_, err := regexp.Compile(regex)
	if err == nil {
		return nil
	}
	text := err.Error()
	var bad *syntax.Error
	if errors.As(err, &bad) {
		text = bad.Code.String()
	}
	return refuse(errorcode.InvalidRegularExpression,
		"SubscribedTopicRegex `%s` is not a valid regular expression: %s.", regex, text)
}

// changeRegex notes a member's new regular expression, and tells whether the
// topics of the group's expressions have to be looked up afterwards. The topics
// of an expression that nobody uses any more are forgotten.
func (op *consumerOp) changeRegex(g *consumerGroup, member, updated *consumerMember) (regexChange, bool, *refusal) {
	change, isNew := regexSame, false
	if old, now := member.regex, updated.regex; old != now {
		change = regexUnresolved
		if old != "" && g.regexes[old] == 1 {
			op.setRegex(old, nil)
		}
		switch {
		case now == "":
			change = regexResolved
		case g.regexes[now] == 0:
			if bad := checkRegex(now); bad != nil {
				return change, false, bad
			}
			isNew = true
		case g.resolved[now] != nil:
			change = regexResolved
		}
	}
	if !isNew && len(g.regexes) == 0 {
		return change, false, nil
	}
	return change, g.regexesDue(isNew, g.regexesWith(member, updated)), nil
}

// regexesWith is how many regular expressions the group has once updated has
// taken the place of member.
func (g *consumerGroup) regexesWith(member, updated *consumerMember) int {
	n := len(g.regexes)
	if member.regex == updated.regex {
		return n
	}
	if member.regex != "" && g.regexes[member.regex] == 1 {
		n--
	}
	if updated.regex != "" && g.regexes[updated.regex] == 0 {
		n++
	}
	return n
}

// regexesDue reports whether the topics of regular expressions, of which there
// are n, one of them new or not, have to be looked up.
func (g *consumerGroup) regexesDue(isNew bool, n int) bool {
	now := g.s.now.UnixMilli()
	var last *resolvedRegex
	for _, last = range g.resolved { // they are all of the same time
		break
	}
	if n == 0 || last != nil && now <= last.at+regexMinInterval.Milliseconds() {
		return false
	}
	return isNew || last == nil || n != len(g.resolved) ||
		last.version < g.s.topicView.createdAt ||
		now > last.at+g.s.config.RegexRefreshInterval.Milliseconds()
}

// resolveRegexes looks up the topics of all regular expressions of a group. Kafka
// does so in the background after the answer; members get what comes of it with
// their next heartbeat here, too.
func (s *Shard) resolveRegexes(g *consumerGroup) {
	topics := s.viewTopics()
	op := consumerOp{s: s, groupID: g.id}
	counts := g.subscriptionWith(nil, nil)
	bump := false
	for _, regex := range sortedKeys(g.regexes) {
		now := &resolvedRegex{topics: matches(regex, topics), version: s.topicView.version, at: s.now.UnixMilli()}
		was := g.resolved[regex]
		if was == nil {
			was = &resolvedRegex{}
		}
		if !slices.Equal(was.topics, now.topics) {
			bump = true
			countRegex(counts, was, -1)
			countRegex(counts, now, +1)
		}
		op.setRegex(regex, now)
	}
	hash := s.metadataHash(counts)
	if bump || hash != g.metadataHash {
		op.setEpoch(g.epoch+1, hash)
		op.after = append(op.after, func() { g.seen = topics })
	}
	op.commit()
}

// matches are the names of the topics that match a whole regular expression.
func matches(regex string, topics *TopicSet) []string {
	names := []string{}
	re, err := regexp.Compile(`\A(?:` + regex + `)\z`)
	if err != nil {
		return names // it came out of an old log: nothing matches
	}
	for _, name := range topics.Names() {
		if re.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
