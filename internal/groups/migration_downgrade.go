package groups

// onlyClassicWithout reports whether a group without some of its members has
// members left, of the classic protocol all of them, and no more than a classic
// group may have.
func (g *consumerGroup) onlyClassicWithout(gone []*consumerMember) bool {
	left, classic := len(g.members)-len(gone), g.classicMembers
	for _, m := range gone {
		if m.classic != nil {
			classic--
		}
	}
	return left > 0 && classic == left && left <= g.s.config.MaxSize
}

// downgradesWith reports whether a static member that takes another's place as a
// classic member leaves none of the consumer protocol.
func (g *consumerGroup) downgradesWith(replaced *consumerMember) bool {
	return replaced != nil && replaced.classic == nil && g.classicMembers == len(g.members)-1 &&
		len(g.members) <= g.s.config.MaxSize
}

// downgrade turns a consumer group into a classic one (KIP-848): its last member
// of the consumer protocol is gone, or comes back as joining, a static member of
// the classic one. The classic members keep their target assignments; rebalance
// makes them join again.
func (op *consumerOp) downgrade(g *consumerGroup, gone []*consumerMember, joining *consumerMember, rebalance bool) {
	leaving := make(map[string]bool, len(gone)+1)
	for _, m := range gone {
		leaving[m.id] = true
	}
	var replaced *consumerMember
	if joining != nil {
		replaced = g.staticMember(joining.instanceID)
		leaving[replaced.id] = true
		op.records = append(op.records, g.tombstonesReplacing(replaced.id, joining.id)...)
	} else {
		op.records = append(op.records, g.tombstones()...)
	}
	c := newClassicGroup(op.s, g.id)
	c.generation = g.epoch
	for _, id := range sortedKeys(g.members) {
		if !leaving[id] {
			c.add(g.members[id].asClassic(), parked{})
		}
	}
	if joining != nil {
		c.add(joining.asClassic(), parked{})
	}
	c.stabilize()
	for _, m := range c.members {
		target := g.targets[m.id]
		if joining != nil && m.id == joining.id {
			target = g.targets[replaced.id]
		}
		m.assignment = op.s.encodeAssignment(target, m.metadata(c.protocol.S))
	}
	op.records = append(op.records, c.encode())
	op.apply = append(op.apply, func() {
		g.drop()
		op.s.groups[c.id] = c
	})
	op.after = append(op.after, func() {
		c.startSessions()
		if rebalance {
			c.prepareRebalance()
		}
	})
}

// asClassic is a member of the classic protocol as a classic group keeps it.
func (m *consumerMember) asClassic() *classicMember {
	c := &classicMember{
		id: m.id, instanceID: m.instanceID, clientID: m.clientID, clientHost: m.clientHost,
		rebalanceTimeout: m.rebalanceTimeout, sessionTimeout: m.classic.sessionTimeout,
		protocolType: consumerProtocolType,
	}
	for _, p := range m.classic.protocols {
		c.protocols = append(c.protocols, classicProtocol{p.Name, p.Metadata})
	}
	return c
}
