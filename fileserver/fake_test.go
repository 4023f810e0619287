package fileserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
)

// fakeBackend is a backend in memory, whose files the test replaces.
type fakeBackend struct {
	name string

	mu     sync.Mutex
	files  map[string]string // environment/path → content
	serial int
	opened int
	closed bool
	blind  bool // reports no versions
	onOpen func()
}

func newFakeBackend(name string, files map[string]string) *fakeBackend {
	return &fakeBackend{name: name, files: files}
}

type held struct {
	content string
	serial  int
}

func (s *fakeBackend) put(name, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = content
	s.serial++
}

func (s *fakeBackend) Name() string                           { return s.name }
func (s *fakeBackend) Envs(context.Context) ([]string, error) { return []string{"base"}, nil }
func (s *fakeBackend) Update(context.Context) (Change, error) { return Change{Changed: true}, nil }
func (s *fakeBackend) Close() error                           { s.closed = true; return nil }
func (s *fakeBackend) Symlinks(context.Context, string, string) (map[string]string, error) {
	return map[string]string{"link": s.name, "l/" + s.name: "x"}, nil
}

func (s *fakeBackend) Find(_ context.Context, env, path string, q Query) (*Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path == "broken" {
		return nil, errors.New("no such disk")
	}
	content, ok := s.files[env+"/"+path]
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, ErrNotFound)
	}
	f := &Found{Path: "/" + path, Rel: path, Env: env, Size: int64(len(content)),
		Private: held{content, s.serial}}
	if !s.blind {
		f.Version = fmt.Sprint(content, s.serial) // the same for equal contents, as with hard links
	}
	return f, nil
}

func (s *fakeBackend) Open(_ context.Context, f *Found) (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := f.Private.(held)
	if s.onOpen != nil {
		s.onOpen()
	}
	if h.serial != s.serial {
		return nil, ErrChanged
	}
	s.opened++
	return &text{s, h.content}, nil
}

func (s *fakeBackend) List(_ context.Context, env string, kind Kind, _ string) ([]string, error) {
	if kind != Files {
		return nil, nil
	}
	var names []string
	for _, n := range []string{"a", "b/c", "b/d", s.name} {
		names = append(names, n)
	}
	return names, nil
}

type text struct {
	s       *fakeBackend
	content string
}

func (f *text) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, f.content[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
func (f *text) Size() int64  { return int64(len(f.content)) }
func (f *text) Check() error { return nil }
func (f *text) Close() error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.opened--
	return nil
}

func (s *fakeBackend) open(t *testing.T) int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}
