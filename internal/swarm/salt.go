package swarm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// A Like is whose minions a crowd signs in as. What differs is the version of the protocol, and what a minion does while the
// master has no time for it.
type Like string

const (
	// Ours are minions of this project.
	Ours Like = ""
	// Salt30060 are minions of Salt 3006.0, of protocol version 2. A request that was not answered in time still holds their
	// socket: the next tries wait behind it, and its late answer counts for them. One whose connection is lost is never
	// answered, and the socket is given up after all tries (salt/transport/zeromq.py, AsyncReqMessageClient).
	Salt30060 Like = "3006.0"
	// Salt300618 are minions of Salt 3006.18, of protocol version 3. They connect anew for each try.
	Salt300618 Like = "3006.18"
)

// ParseLike returns the Like of a name: "", 3006.0 or 3006.18.
func ParseLike(name string) (Like, error) {
	switch l := Like(name); l {
	case Ours, Salt30060, Salt300618:
		return l, nil
	}
	return "", fmt.Errorf("%q is none of 3006.0, 3006.18", name)
}

// The patience of Salt's minions with a sign-in, as auth_timeout, auth_tries and acceptance_wait_time are by default.
const (
	saltAuthTimeout = 5 * time.Second
	saltAuthTries   = 7
	saltWait        = 10 * time.Second
)

// newest returns the newest version of the protocol that the minions speak; 0 is ours.
func (l Like) newest() int {
	if l == Salt30060 {
		return 2
	}
	return 0
}

var errNoAnswer = errors.New("attempt to authenticate with the salt master failed with timeout error")

// salted is a requester that signs in as minions of Salt do.
type salted struct {
	like Like
	open func() transport.Requester

	mu  sync.Mutex
	out transport.Requester
}

var _ transport.Requester = (*salted)(nil)

func newSalted(like Like, open func() transport.Requester) *salted {
	return &salted{like: like, open: open, out: open()}
}

func (s *salted) now() transport.Requester {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// reconnect gives up the connection.
func (s *salted) reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Close()
	s.out = s.open()
}

// Close ends the requests under way.
func (s *salted) Close() error { return s.now().Close() }

// Do sends a request. One that signs in is sent as often as the minions send it, and only with the fields that theirs has.
func (s *salted) Do(ctx context.Context, body []byte) ([]byte, error) {
	body, signIn := s.plain(body)
	switch {
	case !signIn:
		return s.now().Do(ctx, body)
	case s.like == Salt30060:
		return s.once(ctx, body)
	}
	return s.again(ctx, body)
}

// once waits as long for an answer as all tries take.
func (s *salted) once(ctx context.Context, body []byte) ([]byte, error) {
	most, stop := context.WithTimeout(ctx, saltAuthTries*saltAuthTimeout)
	defer stop()
	reply, err := s.now().Do(most, body)
	if err != nil {
		<-most.Done() // nothing wakes the socket
		s.reconnect()
		return nil, errors.Join(errNoAnswer, err, ctx.Err())
	}
	return reply, nil
}

// again connects anew for each try.
func (s *salted) again(ctx context.Context, body []byte) ([]byte, error) {
	var err error
	for range saltAuthTries {
		try, stop := context.WithTimeout(ctx, saltAuthTimeout)
		var reply []byte
		if reply, err = s.now().Do(try, body); err == nil {
			stop()
			return reply, nil
		}
		<-try.Done()
		stop()
		s.reconnect()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, errors.Join(errNoAnswer, err)
}

// plain returns a sign-in as the minions write it, and whether body is one.
func (s *salted) plain(body []byte) (_ []byte, signIn bool) {
	v, err := payload.Unmarshal(body, payload.WireLimits())
	if err != nil {
		return body, false
	}
	env, _ := v.(*data.Map)
	load, ok := env.Value("load").(*data.Map)
	if !ok || load.Text("cmd") != "_auth" {
		return body, false
	}
	load.Delete("brine")
	if s.like == Salt30060 {
		load.Delete("enc_algo")
		load.Delete("sig_algo")
	}
	if text, err := payload.Marshal(env); err == nil {
		body = text
	}
	return body, true
}
