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

// Limits for following links.
const (
	maxLinks = 100 // Salt's limit
	maxLink  = 4096
)

// errNoFile is the error for a path without a file.
var errNoFile = errors.New("no such file in the tree")

// resolve returns the blob at a path of the tree, and its path after the final link was followed.
func (p place) resolve(name string) (mirror.Entry, string, error) {
	for range maxLinks {
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

// entry returns the entry at a path, without following a link.
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

// link returns the target of a link.
func (p place) link(e mirror.Entry) (string, error) {
	if size, err := p.mirror.Size(e.Hash); err != nil || size > maxLink {
		return "", errors.Join(err, errNoFile)
	}
	text, err := p.mirror.Blob(e.Hash, maxLink)
	return string(text), err
}

// A listing is the complete content of a place.
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

// List returns the entries of an environment. git has no empty directories.
func (b *Backend) List(
	ctx context.Context, env string, kind fileserver.Kind, _ string,
) ([]string, error) {
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

// Symlinks returns the links of an environment; if several remotes have one, the first remote's
// counts.
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

// listings returns the listings of all places of an environment.
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

// listing returns the content of a place. It is cached by tree.
func (b *Backend) listing(ctx context.Context, p place, env string) (*listing, error) {
	key := listKey{p.mirror.Key(), p.tree, p.root, p.at}
	b.mu.Lock()
	if len(b.listed) < envsNoted { // with a fallback, any name is an environment
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

// ClearLists drops cached lists, so that the next request reads the trees again.
func (b *Backend) ClearLists(_ context.Context, envs []string) (cleared []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for env := range b.listed {
		if envs == nil || slices.Contains(envs, env) {
			cleared = append(cleared, env)
			delete(b.listed, env)
		}
	}
	clear(b.lists) // several environments may share a tree
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

// walk adds the entries below a tree. dir is its path from the root of the place.
func (p place) walk(ctx context.Context, l *listing, tree mirror.Hash, dir string) error {
	entries, err := p.mirror.Tree(tree)
	if err != nil {
		return err
	}
	if l.entries += len(entries); l.entries > maxList || len(dir) > maxLink {
		return fmt.Errorf("a tree of %s is too large to be listed: more than %d entries, or a path of more than %d bytes", p.mirror.URL(), maxList, maxLink)
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
