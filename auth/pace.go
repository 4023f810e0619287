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
	loginLimit    = 20 * time.Second // how long a system may take
	loginsAtOnce  = 32               // questions to systems
	loginsWaiting = 1024             // logins under way, those included that wait to be refused
	leastPause    = time.Second      // about how long a refused login takes
	mostPause     = 5 * time.Second

	// What the requests of logins under way may have of memory, in bytes: one, those of a source, those of this host and all.
	loginBytes       = 1 << 20
	sourceLoginBytes = 4 << 20
	hereLoginBytes   = 12 << 20
	allLoginBytes    = 16 << 20

	// What one source may have of these, and one name. A name has more than a source, so that nobody can shut out a name alone.
	// This host has nearly as much as a name, since services on it log in for others.
	sourceAtOnce  = loginsAtOnce / 4
	sourceWaiting = loginsWaiting / 8
	hereAtOnce    = nameAtOnce - 1
	nameAtOnce    = loginsAtOnce / 2
	nameWaiting   = loginsWaiting / 2
)

// A pace makes all refused logins take about as long, whatever was wrong, and bounds how many there are and how much memory their
// requests have, all together, from one source and for one name (salt/auth/__init__.py, time_auth).
type pace struct {
	asking  chan struct{}
	waiting chan struct{}

	mu      sync.Mutex
	fail    time.Duration     // how long the slowest refusal took
	budgets map[share]*budget // of which something is used
	bytes   int               // of the requests under way
}

// A share is whose part of the logins is bounded: a source, or a name at a system.
type share struct{ kind, of string }

// A budget is what is used of a share.
type budget struct {
	asking chan struct{}
	most   int // under way
	n      int
	room   int // bytes of requests; 0 is no limit of its own
	bytes  int
}

// newPace returns a pace at which a refused login takes about as long as least.
func newPace(least time.Duration) *pace {
	return &pace{
		asking: make(chan struct{}, loginsAtOnce), waiting: make(chan struct{}, loginsWaiting),
		fail: least, budgets: map[share]*budget{},
	}
}

// sourceOf returns the network of an address that counts as one, or the name of its host where that is no IP address; here is true
// for this host and for what has no address.
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

// sharesOf returns the budgets that a login uses, with the most that each may have.
func sharesOf(c Credentials) map[share]*budget {
	source, here := sourceOf(c.From)
	shares := map[share]*budget{
		{"name", clip(c.Eauth) + "\n" + clip(c.Fields.Text("username"))}: {asking: make(chan struct{}, nameAtOnce), most: nameWaiting},
	}
	if here {
		shares[share{"source", source}] = &budget{asking: make(chan struct{}, hereAtOnce), most: nameWaiting - 1, room: hereLoginBytes}
	} else {
		shares[share{"source", source}] = &budget{asking: make(chan struct{}, sourceAtOnce), most: sourceWaiting, room: sourceLoginBytes}
	}
	return shares
}

// enter takes a place in each budget of a login, or in none.
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
	slices.SortFunc(all, func(a, b *budget) int { return cap(a.asking) - cap(b.asking) }) // a source, which has less, first
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

// run does one login, and lets others have the worker meanwhile. When too many are under way it is refused at once.
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

// ask waits for its turn within each budget, that of all logins last, so that nobody holds a place there who waits.
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

// delay waits until a refusal that began at start may be told.
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
