package netapi

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
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
	mostOfNetwork = mostOffenders / 4
)

// A Pace slows down the guessing of passwords: each Gate that shares it counts the wrong logins of all.
// IPv6 addresses count by their /64. It is safe for concurrent use.
type Pace struct {
	now    func() time.Time
	secret []byte // of the digests of right logins

	mu    sync.Mutex
	known map[offender]*attempts
	from  map[netip.Prefix]int // of known
}

// An offender is a user with the network that the logins come from.
type offender struct {
	user string
	from netip.Prefix
}

// attempts are the logins of one offender.
type attempts struct {
	wrong int
	last  time.Time
	until time.Time // no login before
	// logins that are being checked, each of which may be wrong; ended is closed when one has ended
	underWay int
	ended    chan struct{}
	// digest of the last right login, which is no guess; nil if there is none
	right []byte
}

// NewPace returns a Pace. now may be nil.
func NewPace(now func() time.Time) *Pace {
	if now == nil {
		now = time.Now
	}
	p := &Pace{now: now, secret: make([]byte, sha256.Size), known: map[offender]*attempts{},
		from: map[netip.Prefix]int{}}
	_, _ = rand.Read(p.secret) // it does not fail
	return p
}

// An outcome is what an order or a login says of the password.
type outcome int

const (
	unknownLogin outcome = iota // it was not looked at, as far as is known
	rightLogin
	wrongLogin
	hiddenLogin // the client has not waited for the answer
)

// errProved is wrapped by the error of an order that failed after the master had accepted its login.
var errProved = errors.New("the login was right")

// outcomeOf returns what the end of an order says of its password. The master refuses runners and
// wheel functions with one text, whether the password or a right is missing: that counts as wrong.
func outcomeOf(err error) outcome {
	f, ok := errors.AsType[*Fault](err)
	switch {
	case err == nil, errors.Is(err, errProved):
		return rightLogin
	case errors.Is(err, context.Canceled), ok && (f.Status == statusGone || f.Status == http.StatusGatewayTimeout):
		return hiddenLogin
	case !ok || f.Status != http.StatusUnauthorized:
		return unknownLogin
	case f.Text == client.ErrNotAuthorized.Error():
		return rightLogin
	}
	return wrongLogin
}

// enter returns a function that must be told the outcome of a login; it waits after a wrong one. Logins
// that would make too many mistakes if all under way were wrong wait for their turn, so that it does not
// help to send many at once. A repetition of the last right login need not wait for its turn, but like all
// others it is refused within a pause. Clients of one network, such as all those behind a proxy, have the
// pause of a user together: one who guesses makes the others wait too.
//
// The error is a *Fault that says when to try again. It is a 429 for a user who has made too many mistakes.
// It is a 503 if their turn does not come before ctx ends, or if too many others have made mistakes.
func (p *Pace) enter(ctx context.Context, login *data.Map, from netip.Addr) (done func(outcome), err error) {
	who := offender{sameName(clip(login.Text("username"))), Network(from)}
	digest := p.digest(login)
	for {
		wait, err := p.begin(who, digest)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			busy := because(http.StatusServiceUnavailable, context.Cause(ctx), textBusy)
			busy.RetryAfter = mistakePause
			return nil, busy
		}
	}
	return func(o outcome) {
		if p.end(who, digest, o); o == wrongLogin {
			_ = clock.Sleep(ctx, mistakePause)
		}
	}, nil
}

// digest returns a text that stands for a login. Nobody can find the password by it without the secret.
func (p *Pace) digest(login *data.Map) []byte {
	sum := hmac.New(sha256.New, p.secret)
	for _, field := range loginFields() {
		sum.Write([]byte(data.Repr(login.Value(field)) + "\n"))
	}
	return sum.Sum(nil)
}

// begin counts a login as under way, or returns a channel that is closed when it is time to try again.
func (p *Pace) begin(who offender, digest []byte) (wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.known[who]
	if a == nil {
		if !p.makeRoom(who.from) {
			return nil, fault(http.StatusServiceUnavailable, textCrowded)
		}
		a = &attempts{last: p.now(), ended: make(chan struct{})}
		p.known[who] = a
		p.from[who.from]++
	}
	if a.underWay == 0 && p.now().Sub(a.last) >= mistakesCount {
		a.wrong = 0
	}
	switch left := a.until.Sub(p.now()); {
	case left > 0:
		return nil, paused(left)
	case a.underWay > 0 && a.wrong+a.underWay >= freeMistakes && !hmac.Equal(a.right, digest):
		return a.ended, nil
	}
	a.underWay++
	return nil, nil
}

// paused returns the refusal of a login within a pause. The pause depends on the name that was given, and
// not on whether there is such a user.
func paused(left time.Duration) *Fault {
	left = (left + time.Second - 1).Truncate(time.Second)
	f := fault(http.StatusTooManyRequests, "too many wrong passwords: try again in %d s", int(left/time.Second))
	f.RetryAfter = left
	return f
}

// end counts a login that was under way.
func (p *Pace) end(who offender, digest []byte, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.known[who]
	a.underWay--
	close(a.ended)
	a.ended = make(chan struct{})
	a.last = p.now()
	again := hmac.Equal(a.right, digest)
	switch {
	case o == unknownLogin, o == hiddenLogin && again:
	case o == rightLogin:
		a.wrong, a.until, a.right = 0, time.Time{}, digest
	default: // an order whose client leaves early is carried out if its password is right: it is a guess
		a.wrong++
		if again {
			a.right = nil // the password has changed
		}
		if over := a.wrong - freeMistakes; over > 0 {
			a.until = a.last.Add(min(longestPause, mistakePause<<min(over, 20)))
		}
	}
}

// makeRoom forgets old attempts, then those without a mistake, and then those whose pause is over, if there
// are too many, or too many of a network. It reports false if that makes no room: otherwise one who makes
// mistakes under many names would end the pauses of others.
func (p *Pace) makeRoom(from netip.Prefix) bool {
	now := p.now()
	for _, mayGo := range []func(*attempts) bool{
		func(a *attempts) bool { return now.Sub(a.last) >= mistakesCount },
		func(a *attempts) bool { return a.wrong == 0 },
		func(a *attempts) bool { return !a.until.After(now) },
	} {
		for who, a := range p.known {
			crowded := p.from[from] >= mostOfNetwork
			if !crowded && len(p.known) < mostOffenders {
				return true
			}
			if a.underWay == 0 && mayGo(a) && (!crowded || who.from == from) {
				p.forget(who)
			}
		}
	}
	return p.from[from] < mostOfNetwork && len(p.known) < mostOffenders
}

func (p *Pace) forget(who offender) {
	delete(p.known, who)
	if p.from[who.from]--; p.from[who.from] <= 0 {
		delete(p.from, who.from)
	}
}
