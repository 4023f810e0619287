package auth

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/transport"
)

const (
	loginLimit    = 20 * time.Second // timeout of a system
	loginsAtOnce  = 32               // concurrent calls of systems
	loginsWaiting = 1024             // pending logins, including delayed refusals
	leastPause    = time.Second      // approximate minimum duration of a refused login
	mostPause     = 5 * time.Second

	// Memory limits for the requests of pending logins, in bytes: one request, those of a source,
	// those of this host, and all.
	loginBytes       = 1 << 20
	sourceLoginBytes = 4 << 20
	hereLoginBytes   = 12 << 20
	allLoginBytes    = 16 << 20

	// Limits of logins for one source and one name. A name has more than a source, so that no
	// single source can lock out a user. This host has nearly as much as a name, since services on
	// it log in for their users.
	sourceAtOnce  = loginsAtOnce / 4
	sourceWaiting = loginsWaiting / 8
	hereAtOnce    = nameAtOnce - 1
	nameAtOnce    = loginsAtOnce / 2
	nameWaiting   = loginsWaiting / 2
)

// A pace makes all refused logins take about the same time, whatever the cause. It also limits the
// number and memory of pending logins: in total, per source and per name (salt/auth/__init__.py,
// time_auth).
type pace struct {
	asking  chan struct{}
	waiting chan struct{}

	mu      sync.Mutex
	fail    time.Duration     // duration of the slowest refusal
	budgets map[share]*budget // budgets in use
	bytes   int               // size of pending requests
}

// A share identifies a budget: a source, or a name at a system.
type share struct{ kind, of string }

// A budget counts the logins of a share.
type budget struct {
	asking chan struct{}
	most   int // maximum of pending logins
	n      int
	room   int // maximum bytes of requests; 0 means no separate limit
	bytes  int
}

// newPace returns a pace at which refused logins take at least about least.
func newPace(least time.Duration) *pace {
	return &pace{
		asking: make(chan struct{}, loginsAtOnce), waiting: make(chan struct{}, loginsWaiting),
		fail: least, budgets: map[share]*budget{},
	}
}

// sourceOf returns the network of an address, or its host if it is not an IP address. here is true
// for this host and for connections without an address.
func sourceOf(a net.Addr) (source string, here bool) {
	if a == nil {
		return "", true
	}
	host := transport.HostOf(a)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host, false
	}
	return transport.NetworkOf(ip).String(), ip.IsLoopback()
}

// sharesOf returns the budgets that a login uses, with their limits.
func sharesOf(c Credentials) map[share]*budget {
	source, here := sourceOf(c.From)
	shares := map[share]*budget{
		{"name", clip(c.Eauth) + "\n" +
			clip(c.Fields.Text("username"))}: {asking: make(chan struct{}, nameAtOnce),
			most: nameWaiting},
	}
	if here {
		shares[share{"source", source}] = &budget{asking: make(chan struct{}, hereAtOnce),
			most: nameWaiting - 1, room: hereLoginBytes}
	} else {
		shares[share{"source", source}] = &budget{asking: make(chan struct{}, sourceAtOnce),
			most: sourceWaiting, room: sourceLoginBytes}
	}
	return shares
}

// enter reserves a place in every budget of a login, or in none.
func (p *pace) enter(c Credentials) (all []*budget, leave func(), ok bool) {
	shares := sharesOf(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Size > loginBytes || p.bytes+c.Size > allLoginBytes {
		return nil, nil, false
	}
	for s := range shares {
		if b := p.budgets[s]; b != nil {
			shares[s] = b
		}
		if b := shares[s]; b.n >= b.most || b.room > 0 && b.bytes+c.Size > b.room {
			return nil, nil, false
		}
	}
	p.bytes += c.Size
	for s, b := range shares {
		b.n++
		b.bytes += c.Size
		p.budgets[s] = b
		all = append(all, b)
	}
	// sources, which have lower limits, first
	slices.SortFunc(all, func(a, b *budget) int { return cap(a.asking) - cap(b.asking) })
	return all, func() { p.leave(shares, c.Size) }, true
}

func (p *pace) leave(shares map[share]*budget, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= size
	for s, b := range shares {
		b.bytes -= size
		if b.n--; b.n == 0 {
			delete(p.budgets, s)
		}
	}
}

// run performs a login while another worker replaces this one. It refuses at once if too many
// logins are pending.
func (p *pace) run(ctx context.Context, c Credentials, login func(context.Context) bool) (ok bool) {
	budgets, leave, ok := p.enter(c)
	if !ok {
		return false
	}
	defer leave()
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return false
	}
	transport.Aside(ctx, func() {
		start := time.Now()
		if ok = p.ask(ctx, budgets, login); !ok {
			p.delay(ctx, start)
		}
	})
	return ok
}

// ask waits for a turn in each budget and then calls login. The budget of all logins comes last, so
// that a login that waits for another budget does not occupy it.
func (p *pace) ask(ctx context.Context, budgets []*budget, login func(context.Context) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, loginLimit)
	defer cancel()
	turns := make([]chan struct{}, 0, len(budgets)+1)
	for _, b := range budgets {
		turns = append(turns, b.asking)
	}
	for _, turn := range append(turns, p.asking) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return false
		}
	}
	return login(ctx)
}

// delay waits until a refusal that began at start may be sent.
func (p *pace) delay(ctx context.Context, start time.Time) {
	p.mu.Lock()
	p.fail = min(max(p.fail, time.Since(start)), mostPause)
	whole := p.fail
	p.mu.Unlock()
	whole = whole*3/4 + rand.N(whole/2)
	select {
	case <-time.After(time.Until(start.Add(whole))):
	case <-ctx.Done():
	}
}
