package program

import (
	"context"
	"errors"
	"fmt"
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

	open context.Context // ends with Close; descriptions belong to it
	end  context.CancelCauseFunc
}

// errClosed is the error of calls after Close.
var errClosed = errors.New("the programs of users have been ended")

// A sessionKey is a file as it was at some time.
type sessionKey struct {
	host       *Host
	path       string
	generation int64
}

// NewHost returns a host with options.
func NewHost(o Options) *Host {
	h := &Host{o: o, sessions: map[sessionKey]*session{}}
	h.open, h.end = context.WithCancelCause(context.Background())
	return h
}

// Close ends the programs of a command, and those that describe themselves. Those that answer calls
// of a daemon end with their jobs.
func (h *Host) Close() error {
	h.end(errClosed)
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

// session returns the processes of a program for the job that ctx belongs to. The caller must call
// done after its use.
func (h *Host) session(ctx context.Context, path string) (s *session, done func(), err error) {
	key := sessionKey{h, path, h.generation.Load()}
	fresh := func() *session {
		return &session{path: path, log: h.o.Log.WithField("program", path)}
	}
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
		return nil, nil, errClosed
	}
	if h.sessions[key] == nil {
		h.sessions[key] = fresh()
	}
	return h.sessions[key], func() {}, nil
}

// call sends a request to a program and returns its answer. Its own calls go to answers.
func (h *Host) call(
	ctx context.Context, path string, answers answers, request *data.Map,
) (*data.Map, error) {
	s, done, err := h.session(ctx, path)
	if err != nil {
		return nil, err
	}
	defer done()
	p, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.give(p)
	return p.call(ctx, answers, request)
}

// maxProcesses is the most processes of one program in one job.
const maxProcesses = 100

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

// Close ends the processes, all at a time.
func (s *session) Close() error {
	s.mu.Lock()
	all := s.all
	s.all, s.idle, s.closed = nil, nil, true
	s.mu.Unlock()
	var closing sync.WaitGroup
	for _, p := range all {
		closing.Go(p.close)
	}
	closing.Wait()
	return nil
}

// take returns an idle process or a new one.
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
		s.remove(p)
		p.close()
	}
	if len(s.all) >= maxProcesses {
		return nil, fmt.Errorf("start the program %s: this job already has %d processes of it",
			s.path, maxProcesses)
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
	if s.keep(p) {
		return
	}
	p.close()
}

// keep makes a process idle, or removes it if it is broken. It reports whether the session has it.
func (s *session) keep(p *process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.broken.Load() {
		s.remove(p)
		return false
	}
	if !s.closed {
		s.idle = append(s.idle, p)
	}
	return true
}

// remove removes a process. s.mu is held.
func (s *session) remove(p *process) {
	s.all = slices.DeleteFunc(s.all, func(one *process) bool { return one == p })
}
