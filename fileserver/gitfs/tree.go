package gitfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
)

// Bounds of what is followed.
const (
	mostLinks   = 100 // Salt's
	longestLink = 4096
)

// errNoFile is of paths that no file is at.
var errNoFile = errors.New("no such file in the tree")

// resolve returns the blob at a path of the tree, and its path with the link at its end followed.
func (p place) resolve(name string) (mirror.Entry, string, error) {
	for range mostLinks {
		e, err := p.entry(name)
		if err != nil {
			return e, name, err
		}
		switch {
		case e.File():
			return e, name, nil
		case !e.Link():
			return e, name, errNoFile
		}
		to, err := p.link(e)
		if err != nil {
			return e, name, err
		}
		name = path.Join(path.Dir(name), to)
		if to == "" || path.IsAbs(to) || name == ".." || strings.HasPrefix(name, "../") {
			return e, name, errNoFile
		}
	}
	return mirror.Entry{}, name, errNoFile
}

// entry returns what is at a path, with no link followed.
func (p place) entry(name string) (e mirror.Entry, err error) {
	e = mirror.Entry{Mode: 0o040000, Hash: p.tree}
	if name == "" || name == "." {
		return e, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if !e.Dir() {
			return e, errNoFile
		}
		entries, err := p.mirror.Tree(e.Hash)
		if err != nil {
			return e, err
		}
		i := slices.IndexFunc(entries, func(e mirror.Entry) bool { return e.Name == part })
		if i < 0 {
			return e, errNoFile
		}
		e = entries[i]
	}
	return e, nil
}

// link returns where a link says it leads.
func (p place) link(e mirror.Entry) (string, error) {
	if size, err := p.mirror.Size(e.Hash); err != nil || size > longestLink {
		return "", errors.Join(err, errNoFile)
	}
	text, err := p.mirror.Blob(e.Hash, longestLink)
	return string(text), err
}

// A listing is all that a place has.
type listing struct {
	files, dirs []string
	links       map[string]string
	entries     int
}

type listKey struct {
	mirror   string
	tree     mirror.Hash
	root, at string
}

// List returns what the trees of an environment have. git has no empty directories.
func (b *Backend) List(ctx context.Context, env string, kind fileserver.Kind, _ string) ([]string, error) {
	if kind == fileserver.EmptyDirs {
		return nil, nil
	}
	lists, err := b.listings(ctx, env)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, l := range lists {
		names := l.files
		if kind == fileserver.Dirs {
			names = l.dirs
		}
		if len(lists) == 1 {
			return names, nil
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Symlinks returns the links of an environment; that of the first remote counts where several have one.
func (b *Backend) Symlinks(ctx context.Context, env, _ string) (map[string]string, error) {
	lists, err := b.listings(ctx, env)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, l := range slices.Backward(lists) {
		maps.Copy(all, l.links)
	}
	return all, nil
}

// listings returns those of the places of an environment.
func (b *Backend) listings(ctx context.Context, env string) ([]*listing, error) {
	places, err := b.places(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []*listing
	for _, p := range places {
		l, err := b.listing(ctx, p, env)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// listing returns what a place has. It is the same for as long as the tree is.
func (b *Backend) listing(ctx context.Context, p place, env string) (*listing, error) {
	key := listKey{p.mirror.Key(), p.tree, p.root, p.at}
	b.mu.Lock()
	if len(b.listed) < envsNoted { // with a fallback, any name is one
		b.listed[env] = true
	}
	l, ok := b.lists[key]
	b.mu.Unlock()
	if ok {
		return l, nil
	}
	l, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for old := range b.lists {
		if len(b.lists) < listsKept {
			break
		}
		delete(b.lists, old)
	}
	b.lists[key] = l
	return l, nil
}

// ClearLists drops lists. What is asked for next is read anew.
func (b *Backend) ClearLists(_ context.Context, envs []string) (cleared []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for env := range b.listed {
		if envs == nil || slices.Contains(envs, env) {
			cleared = append(cleared, env)
			delete(b.listed, env)
		}
	}
	clear(b.lists) // a tree may be that of several environments
	return cleared
}

// read reads the trees of a place.
func (p place) read(ctx context.Context) (*listing, error) {
	l := &listing{links: map[string]string{}}
	top, err := p.entry(p.root)
	if errors.Is(err, errNoFile) || err == nil && !top.Dir() {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	if err := p.walk(ctx, l, top.Hash, ""); err != nil {
		return nil, err
	}
	if p.at != "" {
		l.dirs = append(l.dirs, p.at)
	}
	slices.Sort(l.files)
	slices.Sort(l.dirs)
	return l, nil
}

// walk adds what is below a tree whose path from the root of the place is dir.
func (p place) walk(ctx context.Context, l *listing, tree mirror.Hash, dir string) error {
	entries, err := p.mirror.Tree(tree)
	if err != nil {
		return err
	}
	if l.entries += len(entries); l.entries > largestList || len(dir) > longestLink {
		return fmt.Errorf("a tree of %s is too large to be listed: more than %d entries, or a path of more than %d bytes", p.mirror.URL(), largestList, longestLink)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name)
		if !utf8.ValidString(e.Name) {
			continue
		}
		if err := p.add(ctx, l, e, name); err != nil {
			return err
		}
	}
	return nil
}

func (p place) add(ctx context.Context, l *listing, e mirror.Entry, name string) error {
	served := path.Join(p.at, name)
	switch {
	case e.Dir():
		l.dirs = append(l.dirs, served)
		return p.walk(ctx, l, e.Hash, name)
	case e.File():
		l.files = append(l.files, served)
	case e.Link():
		to, err := p.link(e)
		if errors.Is(err, errNoFile) || err == nil && !utf8.ValidString(to) {
			return nil
		}
		if err != nil {
			return err
		}
		l.links[served] = to
		switch _, _, err := p.resolve(path.Join(p.root, name)); {
		case err == nil:
			l.files = append(l.files, served)
		case !errors.Is(err, errNoFile):
			return err
		}
	}
	return nil
}
