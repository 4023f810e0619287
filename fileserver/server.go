package fileserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/brineproject/brine/data"
)

// Bounds of a Server.
const (
	usualBuffer   = 1 << 20
	largestBuffer = 64 << 20
	attempts      = 5 // to find and open a file that is being replaced
)

// A Server serves the files of its backends.
type Server struct {
	opts   atomic.Pointer[Options]
	files  *openFiles
	hashes *hashes
	same   singleflight.Group // of hashes
	gzips  [10]sync.Pool      // of *gzip.Writer, by level
}

// New returns a server. Close gives back what it keeps open.
func New(o Options) *Server {
	s := &Server{files: newOpenFiles(), hashes: newHashes()}
	s.opts.Store(o.filled())
	return s
}

func (o Options) filled() *Options {
	if o.HashType == "" {
		o.HashType = "sha256"
	}
	if o.BufferSize <= 0 {
		o.BufferSize = usualBuffer
	}
	o.BufferSize = min(o.BufferSize, largestBuffer)
	return &o
}

// SetOptions replaces what New was given. Backends that are no longer among those of o are closed when they are
// io.Closers; files that are being served are looked for again.
func (s *Server) SetOptions(o Options) error {
	old := s.opts.Swap(o.filled())
	s.files.closeAll()
	return closeBackends(old.Backends, o.Backends)
}

// Close closes open files and backends. Requests find nothing afterwards.
func (s *Server) Close() error {
	return s.SetOptions(Options{})
}

func closeBackends(all, but []Backend) error {
	var errs []error
	for _, b := range all {
		if c, ok := b.(io.Closer); ok && !slices.Contains(but, b) {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Sweep closes files that nobody asked for in this time. Without it, those that are left over stay open until others
// are asked for.
func (s *Server) Sweep(idle time.Duration) { s.files.sweep(idle) }

// Backends returns the backends, in order.
func (s *Server) Backends() []Backend { return slices.Clone(s.opts.Load().Backends) }

// Select returns the backends that are named, in that order; names that begin with - are taken from all, when all do. No
// name means all, and a name that there is not means none (salt/fileserver/__init__.py, Fileserver.backends).
func (s *Server) Select(names ...string) []Backend { return choose(s.opts.Load().Backends, names) }

func choose(all []Backend, names []string) []Backend {
	if len(names) == 0 {
		return slices.Clone(all)
	}
	var out []Backend
	if !slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "-") }) {
		for _, b := range all {
			if !slices.ContainsFunc(names, func(n string) bool { return presentName(n[1:]) == b.Name() }) {
				out = append(out, b)
			}
		}
		return out
	}
	for _, n := range names {
		i := slices.IndexFunc(all, func(b Backend) bool { return b.Name() == presentName(n) })
		if i >= 0 && !slices.Contains(out, all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

// Envs returns the environments of backends, sorted.
func (s *Server) Envs(ctx context.Context, backends ...string) ([]string, error) {
	var envs []string
	for _, b := range s.Select(backends...) {
		more, err := b.Envs(ctx)
		if err != nil {
			return nil, fmt.Errorf("environments of %s: %w", b.Name(), err)
		}
		envs = append(envs, more...)
	}
	slices.Sort(envs)
	return slices.Compact(envs), nil
}

// Find looks for a file. The error wraps ErrNotFound when there is none.
func (s *Server) Find(ctx context.Context, path, env string, backends ...string) (*Found, error) {
	return find(ctx, s.Select(backends...), path, env)
}

// find asks one backend after the other. One that fails does not keep the others from having the file.
func find(ctx context.Context, backends []Backend, path, env string) (*Found, error) {
	t, ok := parse(path, env)
	if !ok {
		return nil, fmt.Errorf("%q: %w", shown(path), ErrNotFound)
	}
	var failed error
	for _, b := range backends {
		f, err := b.Find(ctx, t.env, t.path, t.query)
		if err == nil {
			f.Backend, f.backend = b.Name(), b
			return f, nil
		}
		if !errors.Is(err, ErrNotFound) && failed == nil {
			failed = fmt.Errorf("look for %q in %s: %w", shown(t.path), b.Name(), err)
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fmt.Errorf("%q in environment %q: %w", shown(t.path), shown(t.env), ErrNotFound)
}

// shown is a name from outside, short enough for a log.
func shown(s string) string { return s[:min(len(s), 300)] }

// List returns the paths of an environment, sorted and each once.
func (s *Server) List(ctx context.Context, l ListOf) ([]string, error) {
	prefix := strings.Trim(l.Prefix, "/")
	var all []string
	backends := s.Select(l.Backends...)
	for _, b := range backends {
		list, err := b.List(ctx, l.Env, l.Kind, prefix)
		if err != nil {
			return nil, fmt.Errorf("list environment %q of %s: %w", shown(l.Env), b.Name(), err)
		}
		all = appendBegins(all, list, prefix)
	}
	if len(backends) == 1 {
		return all, nil
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// appendBegins appends those of a list that begin with prefix.
func appendBegins(to, list []string, prefix string) []string {
	to = slices.Grow(to, len(list))
	for _, name := range list {
		if strings.HasPrefix(name, prefix) {
			to = append(to, name)
		}
	}
	return to
}

// Symlinks returns the symbolic links of an environment, in order of their paths, and where each says it leads. Kind has
// no meaning here. Of a path in several backends the first one speaks, where Salt lets the last backend speak alone.
func (s *Server) Symlinks(ctx context.Context, l ListOf) (*data.Map, error) {
	prefix := strings.Trim(l.Prefix, "/")
	all := map[string]string{}
	var names []string
	for _, b := range s.Select(l.Backends...) {
		links, err := b.Symlinks(ctx, l.Env, prefix)
		if err != nil {
			return nil, fmt.Errorf("list links of environment %q of %s: %w", shown(l.Env), b.Name(), err)
		}
		for name, target := range links {
			if _, ok := all[name]; !ok && strings.HasPrefix(name, prefix) {
				all[name] = target
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	m := data.NewMap()
	for _, name := range names {
		m.Set(name, all[name])
	}
	return m, nil
}

// Update updates backends, all without names, and calls report with what each found. Those that fail do not keep the
// others from being updated. A backend that has an interval for each of its sources updates them all.
func (s *Server) Update(ctx context.Context, report func(backend string, c Change), backends ...string) error {
	var errs []error
	for _, b := range s.Select(backends...) {
		c, err := b.Update(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("update %s: %w", b.Name(), err))
			continue
		}
		if report != nil {
			report(b.Name(), c)
		}
	}
	return errors.Join(errs...)
}

// ClearLock takes away the locks that keep the sources of one backend from being updated, as Locker does. A backend that
// there is not, or that has no locks, has none to take.
func (s *Server) ClearLock(ctx context.Context, backend, remote, kind string) (cleared, failed []string, err error) {
	for _, b := range s.Select(backend) {
		if l, ok := b.(Locker); ok {
			cleared, failed = l.ClearLock(ctx, remote, kind)
		}
	}
	return cleared, failed, nil
}
