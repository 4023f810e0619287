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

// Limits of a Server.
const (
	defaultBuffer = 1 << 20
	maxBuffer     = 64 << 20
	attempts      = 5 // to find and open a file that is being replaced
)

// A Server serves the files of its backends.
type Server struct {
	opts   atomic.Pointer[Options]
	files  *openFiles
	hashes *hashes
	same   singleflight.Group // computations of hashes
	gzips  [10]sync.Pool      // of *gzip.Writer, by level
}

// New returns a server. Close releases the files that it keeps open.
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
		o.BufferSize = defaultBuffer
	}
	o.BufferSize = min(o.BufferSize, maxBuffer)
	return &o
}

// SetOptions replaces the options given to New. Backends that are not in o are closed if they are
// io.Closers. Files being served are looked up again.
func (s *Server) SetOptions(o Options) error {
	old := s.opts.Swap(o.filled())
	s.files.closeAll()
	return closeBackends(old.Backends, o.Backends)
}

// Close closes open files and backends. Later requests find nothing.
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

// Sweep closes files that nobody asked for within this time. Without it, such files stay open until
// the room is needed for others.
func (s *Server) Sweep(idle time.Duration) { s.files.sweep(idle) }

// Backends returns the backends, in order.
func (s *Server) Backends() []Backend { return slices.Clone(s.opts.Load().Backends) }

// Select returns the backends with these names, in that order. If all names begin with -, it
// returns all backends but those. Without names it returns all, and an unknown name selects none
// (salt/fileserver/__init__.py, Fileserver.backends).
func (s *Server) Select(names ...string) []Backend { return choose(s.opts.Load().Backends, names) }

func choose(all []Backend, names []string) []Backend {
	if len(names) == 0 {
		return slices.Clone(all)
	}
	var out []Backend
	if !slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "-") }) {
		for _, b := range all {
			if !slices.ContainsFunc(names,
				func(n string) bool { return presentName(n[1:]) == b.Name() }) {
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

// Find looks for a file. The error wraps ErrNotFound if there is none.
func (s *Server) Find(ctx context.Context, path, env string, backends ...string) (*Found, error) {
	return find(ctx, s.Select(backends...), path, env)
}

// find asks one backend after the other. A failing backend does not keep the others from being
// asked.
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

// shown shortens a name from outside for a log.
func shown(s string) string { return s[:min(len(s), 300)] }

// List returns the paths of an environment, sorted and without duplicates.
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

// appendBegins appends the entries of a list that begin with prefix.
func appendBegins(to, list []string, prefix string) []string {
	to = slices.Grow(to, len(list))
	for _, name := range list {
		if strings.HasPrefix(name, prefix) {
			to = append(to, name)
		}
	}
	return to
}

// Symlinks returns the symbolic links of an environment, ordered by path, with their targets. The
// field Kind of l is ignored. If several backends have a path, the first one counts. Salt returns
// only the links of the last backend.
func (s *Server) Symlinks(ctx context.Context, l ListOf) (*data.Map, error) {
	prefix := strings.Trim(l.Prefix, "/")
	all := map[string]string{}
	var names []string
	for _, b := range s.Select(l.Backends...) {
		links, err := b.Symlinks(ctx, l.Env, prefix)
		if err != nil {
			return nil, fmt.Errorf("list links of environment %q of %s: %w", shown(l.Env),
				b.Name(), err)
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

// Update updates backends, or all without names, and calls report with each result. A failing
// backend does not keep the others from being updated. A backend with an interval per source
// updates all its sources.
func (s *Server) Update(
	ctx context.Context, report func(backend string, c Change), backends ...string,
) error {
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

// ClearLock removes the update locks of one backend's sources; see Locker. An unknown backend, or
// one without locks, is not an error.
func (s *Server) ClearLock(
	ctx context.Context, backend, remote, kind string,
) (cleared, failed []string, err error) {
	for _, b := range s.Select(backend) {
		if l, ok := b.(Locker); ok {
			cleared, failed = l.ClearLock(ctx, remote, kind)
		}
	}
	return cleared, failed, nil
}
