package program

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Options describe the programs that a [Host] runs.
type Options struct {
	Daemon bool // each job gets processes of its own

	// Directories returns the directories of each kind of plug-in, the first of which counts most.
	Directories func() map[string][]string
	Log         logrus.FieldLogger
}

// A Host runs the programs of one daemon or command. Several goroutines may use it.
type Host struct {
	o Options

	mu       sync.Mutex
	sessions map[sessionKey]*session // of a command
	closed   bool

	generation atomic.Int64 // rises when the files may have changed
}

// A sessionKey is a file as it was at some time.
type sessionKey struct {
	host       *Host
	path       string
	generation int64
}

// NewHost returns a host with options.
func NewHost(o Options) *Host { return &Host{o: o, sessions: map[sessionKey]*session{}} }

// Close ends the programs of a command. Those of a daemon end with their jobs.
func (h *Host) Close() error {
	h.mu.Lock()
	sessions := h.sessions
	h.sessions, h.closed = nil, true
	h.mu.Unlock()
	var errs []error
	for _, s := range sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// session returns the processes of a program for the job that ctx belongs to. done gives them back.
func (h *Host) session(ctx context.Context, path string) (s *session, done func(), err error) {
	key := sessionKey{h, path, h.generation.Load()}
	fresh := func() *session { return &session{path: path, log: h.o.Log.WithField("program", path)} }
	switch scope := loader.ScopeOf(ctx); {
	case scope != nil:
		kept, err := scope.Keep(key, func() (io.Closer, error) { return fresh(), nil })
		if err != nil {
			return nil, nil, err
		}
		return kept.(*session), func() {}, nil
	case h.o.Daemon:
		s := fresh()
		return s, func() { _ = s.Close() }, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, errors.New("the programs of users have been ended")
	}
	if h.sessions[key] == nil {
		h.sessions[key] = fresh()
	}
	return h.sessions[key], func() {}, nil
}

// maxNested is how deep calls of programs may nest: each has a process.
const maxNested = 50

type depthKey struct{} // in the context of calls: how many calls of programs it is within

// call has a program answer a request. Its calls go to answers.
func (h *Host) call(ctx context.Context, path string, answers answers, request *data.Map) (*data.Map, error) {
	s, done, err := h.session(ctx, path)
	if err != nil {
		return nil, err
	}
	defer done()
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth >= maxNested {
		return nil, loader.Exception("RecursionError", "calls of programs nest deeper than %d", maxNested)
	}
	ctx = context.WithValue(ctx, depthKey{}, depth+1)
	p, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.give(p)
	return p.call(ctx, answers, request)
}

// A session is the processes of one program in one job. There is one, unless calls are nested or
// run side by side.
type session struct {
	path string
	log  *logrus.Entry

	mu     sync.Mutex
	idle   []*process
	all    []*process
	closed bool
}

// Close ends the processes.
func (s *session) Close() error {
	s.mu.Lock()
	all := s.all
	s.all, s.idle, s.closed = nil, nil, true
	s.mu.Unlock()
	for _, p := range all {
		p.close()
	}
	return nil
}

// take returns a process that is idle, or a new one.
func (s *session) take(ctx context.Context) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, loader.ErrScopeClosed
	}
	for n := len(s.idle); n > 0; n = len(s.idle) {
		p := s.idle[n-1]
		s.idle = s.idle[:n-1]
		if !p.over() {
			return p, nil
		}
	}
	p, err := start(ctx, s.path, s.log)
	if err != nil {
		return nil, err
	}
	s.all = append(s.all, p)
	return p, nil
}

// give returns a process to the session. A broken one is ended.
func (s *session) give(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.broken {
		s.all = slices.DeleteFunc(s.all, func(one *process) bool { return one == p })
		p.close()
	} else if !s.closed {
		s.idle = append(s.idle, p)
	}
}
