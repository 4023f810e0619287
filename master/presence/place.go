package presence

// A place is a host from which connections come that bear no name. They are given to the minions at the host that have
// no connection of their own, to those that were heard of last first. All of its methods cost the same however many
// minions there are.
type place struct {
	host string
	turn func(m *minion, given bool) // sets whether a minion is given a connection

	conns int // without a name
	waits int // minions in the line
	given int // of these, how many have a connection: those from front to edge

	front, edge, back *minion

	awaited map[*minion]struct{} // of the line
}

// connect adds connections without a name, or takes some away.
func (p *place) connect(n int) {
	p.conns += n
	p.deal()
}

// enter puts a minion into the line: at its front, where it was heard of last, or at the back.
func (p *place) enter(m *minion, heard bool) {
	m.place = p
	if heard {
		p.lead(m)
	} else {
		p.linkBack(m)
	}
	p.deal()
}

// leave takes a minion out of the line.
func (p *place) leave(m *minion) {
	p.unlink(m)
	m.place = nil
	if m.given {
		p.turn(m, false)
	}
	p.deal()
}

// hear moves a minion of the line to its front.
func (p *place) hear(m *minion) {
	if p.front == m {
		return
	}
	p.unlink(m)
	p.lead(m)
	p.deal()
}

// lead puts a minion to the front, with a connection if others have one.
func (p *place) lead(m *minion) {
	if p.given > 0 && !m.given {
		p.turn(m, true)
	}
	p.linkFront(m)
}

// deal gives as many connections as there are minions for, and no more than there are.
func (p *place) deal() {
	for p.given < min(p.conns, p.waits) {
		next := p.front
		if p.edge != nil {
			next = p.edge.next
		}
		p.turn(next, true)
		p.edge = next
		p.given++
	}
	for p.given > p.conns {
		last := p.edge
		p.edge = last.prev
		p.given--
		p.turn(last, false)
	}
}

func (p *place) linkFront(m *minion) {
	m.prev, m.next = nil, p.front
	if p.front != nil {
		p.front.prev = m
	} else {
		p.back = m
	}
	p.front = m
	p.waits++
	if m.given {
		p.given++
		if p.edge == nil {
			p.edge = m
		}
	}
}

func (p *place) linkBack(m *minion) {
	m.prev, m.next = p.back, nil
	if p.back != nil {
		p.back.next = m
	} else {
		p.front = m
	}
	p.back = m
	p.waits++
}

func (p *place) unlink(m *minion) {
	if m.given {
		p.given--
		if p.edge == m {
			p.edge = m.prev
		}
	}
	if m.prev != nil {
		m.prev.next = m.next
	} else {
		p.front = m.next
	}
	if m.next != nil {
		m.next.prev = m.prev
	} else {
		p.back = m.prev
	}
	m.prev, m.next = nil, nil
	p.waits--
}

// empty reports whether nothing is kept of the place.
func (p *place) empty() bool { return p.conns == 0 && p.waits == 0 }

// unsure reports whether it is not known for all minions and connections here which belong together.
func (p *place) unsure() bool { return p.conns > 0 && p.conns != p.waits }

// strange reports whether some of the connections are nobody's.
func (p *place) strange() bool { return p.conns > p.waits }
