package presence

// A place is a host with connections that have no name. They are assigned to the minions at the
// host that have no connection of their own; those heard from most recently come first. All methods
// take constant time.
type place struct {
	host string
	// setAssigned sets whether a minion has a connection assigned.
	setAssigned func(m *minion, given bool)

	conns int // connections without a name
	waits int // minions in the list
	given int // minions with a connection: those from front to edge

	front, edge, back *minion

	awaited map[*minion]struct{} // minions of the list that a caller of Await waits for
}

// connect adds n connections without a name; n may be negative.
func (p *place) connect(n int) {
	p.conns += n
	p.deal()
}

// enter adds a minion to the list: at the front if it was heard from just now, else at the back.
func (p *place) enter(m *minion, heard bool) {
	m.place = p
	if heard {
		p.lead(m)
	} else {
		p.linkBack(m)
	}
	p.deal()
}

// leave removes a minion from the list.
func (p *place) leave(m *minion) {
	p.unlink(m)
	m.place = nil
	if m.given {
		p.setAssigned(m, false)
	}
	p.deal()
}

// hear moves a minion to the front of the list.
func (p *place) hear(m *minion) {
	if p.front == m {
		return
	}
	p.unlink(m)
	p.lead(m)
	p.deal()
}

// lead inserts a minion at the front. It gets a connection if others have one.
func (p *place) lead(m *minion) {
	if p.given > 0 && !m.given {
		p.setAssigned(m, true)
	}
	p.linkFront(m)
}

// deal assigns as many connections as there are connections and minions.
func (p *place) deal() {
	for p.given < min(p.conns, p.waits) {
		next := p.front
		if p.edge != nil {
			next = p.edge.next
		}
		p.setAssigned(next, true)
		p.edge = next
		p.given++
	}
	for p.given > p.conns {
		last := p.edge
		p.edge = last.prev
		p.given--
		p.setAssigned(last, false)
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

// empty reports whether the place has neither connections nor minions.
func (p *place) empty() bool { return p.conns == 0 && p.waits == 0 }

// unsure reports whether it is unknown which minions and connections here belong together.
func (p *place) unsure() bool { return p.conns > 0 && p.conns != p.waits }

// strange reports whether some of the connections belong to no known minion.
func (p *place) strange() bool { return p.conns > p.waits }
