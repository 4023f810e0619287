package loader

import (
	"context"
	"errors"
	"io"
	"sync"
)

// A Scope is the lifetime of one job or command. Plug-ins keep in it what the functions of the job
// share and what must end with it, such as a process. Several goroutines may use it.
type Scope struct {
	mu     sync.Mutex
	kept   map[any]io.Closer
	closed bool
}

type scopeKey struct{}

// WithScope returns a context that carries a new Scope. Whoever runs the job closes the scope at
// its end.
func WithScope(ctx context.Context) (context.Context, *Scope) {
	s := &Scope{}
	return context.WithValue(ctx, scopeKey{}, s), s
}

// ScopeOf returns the Scope of the job that ctx belongs to, nil if there is none.
func ScopeOf(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// ErrScopeClosed is returned by Keep after Close.
var ErrScopeClosed = errors.New("the job has ended")

// Keep returns the value that the job keeps under key, which open makes at the first call. Close
// closes it.
func (s *Scope) Keep(key any, open func() (io.Closer, error)) (io.Closer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrScopeClosed
	}
	if kept, ok := s.kept[key]; ok {
		return kept, nil
	}
	made, err := open()
	if err != nil {
		return nil, err
	}
	if s.kept == nil {
		s.kept = map[any]io.Closer{}
	}
	s.kept[key] = made
	return made, nil
}

// Close closes everything that the job keeps and returns the errors of all.
func (s *Scope) Close() error {
	s.mu.Lock()
	kept := s.kept
	s.kept, s.closed = nil, true
	s.mu.Unlock()
	var all []error
	for _, c := range kept {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}
