package netapi

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/internal/clock"
)

// Wrong logins of a user from an address: the first few cost a second each, further ones are refused
// until the pause is over, which doubles with each.
const (
	freeMistakes  = 5
	mistakePause  = time.Second
	longestPause  = 5 * time.Minute
	mistakesCount = time.Hour // after which they are forgotten
	mostOffenders = 10_000
)

// pace slows down the guessing of passwords.
type pace struct {
	now func() time.Time

	mu    sync.Mutex
	known map[offender]*mistakes
}

type offender struct {
	user string
	from netip.Addr
}

type mistakes struct {
	n     int
	last  time.Time
	until time.Time // no login before
}

func newPace(now func() time.Time) *pace { return &pace{now: now, known: map[offender]*mistakes{}} }

// An outcome is what an order or a login says of the password.
type outcome int

const (
	unknownLogin outcome = iota // it was not looked at, as far as is known
	rightLogin
	wrongLogin
)

// outcomeOf returns what the end of an order says of its password. The master refuses runners and
// wheel functions with one text, whether the password or a right is missing: that counts as wrong.
func outcomeOf(err error) outcome {
	f, ok := errors.AsType[*Fault](err)
	switch {
	case err == nil:
		return rightLogin
	case !ok || f.Status != http.StatusUnauthorized:
		return unknownLogin
	case f.Text == client.ErrNotAuthorized.Error():
		return rightLogin
	}
	return wrongLogin
}

// enter returns a function that must be told the outcome; it waits after a wrong login.
// The error is a *Fault for a user who has made too many mistakes.
func (p *pace) enter(ctx context.Context, user string, from netip.Addr) (done func(outcome), err error) {
	who := offender{user, from.Unmap()}
	if len(who.user) > 255 {
		who.user = who.user[:255]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.known[who]; m != nil && p.now().Before(m.until) {
		return nil, fault(http.StatusUnauthorized, textBadLogin)
	}
	return func(o outcome) {
		if p.note(who, o); o == wrongLogin {
			_ = clock.Sleep(ctx, mistakePause)
		}
	}, nil
}

func (p *pace) note(who offender, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch o {
	case unknownLogin:
		return
	case rightLogin:
		delete(p.known, who)
		return
	}
	m := p.known[who]
	if m == nil {
		p.makeRoom()
		m = &mistakes{}
		p.known[who] = m
	}
	m.n++
	m.last = p.now()
	if over := m.n - freeMistakes; over > 0 {
		m.until = m.last.Add(min(longestPause, mistakePause<<min(over, 20)))
	}
}

// makeRoom forgets old mistakes, and any one if there are still too many.
func (p *pace) makeRoom() {
	if len(p.known) < mostOffenders {
		return
	}
	for who, m := range p.known {
		if p.now().Sub(m.last) >= mistakesCount {
			delete(p.known, who)
		}
	}
	for who := range p.known {
		if len(p.known) < mostOffenders {
			return
		}
		delete(p.known, who)
	}
}
