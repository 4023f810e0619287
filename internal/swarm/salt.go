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

// A Like is the implementation that a swarm's minions imitate at sign-in. They differ in the
// version of the protocol, and in how a minion behaves while the master is too busy.
type Like string

const (
	// Ours are minions of this project.
	Ours Like = ""
	// Salt30060 are minions of Salt 3006.0, with protocol version 2. A request that was not
	// answered in time still occupies their socket: later tries wait behind it, and its late reply
	// counts for them. If the connection is lost there is no reply, and the socket is closed after
	// all tries (salt/transport/zeromq.py, AsyncReqMessageClient).
	Salt30060 Like = "3006.0"
	// Salt300618 are minions of Salt 3006.18, with protocol version 3. They reconnect for each try.
	Salt300618 Like = "3006.18"
)

// ParseLike returns the Like of a name: "", 3006.0 or 3006.18.
func ParseLike(name string) (Like, error) {
	switch l := Like(name); l {
	case Ours, Salt30060, Salt300618:
		return l, nil
	}
	return "", fmt.Errorf("invalid value %q; use 3006.0 or 3006.18", name)
}

// Timeouts of the sign-in of Salt's minions: the defaults of auth_timeout, auth_tries and
// acceptance_wait_time.
const (
	saltAuthTimeout = 5 * time.Second
	saltAuthTries   = 7
	saltWait        = 10 * time.Second
)

// newest returns the newest version of the protocol that the minions support; 0 means ours.
func (l Like) newest() int {
	if l == Salt30060 {
		return 2
	}
	return 0
}

var errNoAnswer = errors.New("attempt to authenticate with the salt master failed with timeout error")

// saltRequester is a requester that signs in as Salt's minions do.
type saltRequester struct {
	like Like
	open func() transport.Requester

	mu  sync.Mutex
	out transport.Requester
}

var _ transport.Requester = (*saltRequester)(nil)

func newSalted(like Like, open func() transport.Requester) *saltRequester {
	return &saltRequester{like: like, open: open, out: open()}
}

func (s *saltRequester) now() transport.Requester {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// reconnect closes the connection and opens a new one.
func (s *saltRequester) reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Close()
	s.out = s.open()
}

// Close ends pending requests.
func (s *saltRequester) Close() error { return s.now().Close() }

// Do sends a request. A sign-in is sent as often as Salt's minions send it, and only with their
// fields.
func (s *saltRequester) Do(ctx context.Context, body []byte) ([]byte, error) {
	body, signIn := s.plain(body)
	switch {
	case !signIn:
		return s.now().Do(ctx, body)
	case s.like == Salt30060:
		return s.once(ctx, body)
	}
	return s.again(ctx, body)
}

// once sends one request and waits as long as all tries take together.
func (s *saltRequester) once(ctx context.Context, body []byte) ([]byte, error) {
	limit, stop := context.WithTimeout(ctx, saltAuthTries*saltAuthTimeout)
	defer stop()
	reply, err := s.now().Do(limit, body)
	if err != nil {
		<-limit.Done() // nothing wakes the socket
		s.reconnect()
		return nil, errors.Join(errNoAnswer, err, ctx.Err())
	}
	return reply, nil
}

// again reconnects for each try.
func (s *saltRequester) again(ctx context.Context, body []byte) ([]byte, error) {
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

// plain returns a sign-in in the form of Salt's minions, and whether body is one.
func (s *saltRequester) plain(body []byte) (_ []byte, signIn bool) {
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
