package gitfs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/brineproject/brine/fileserver/gitfs/mirror"
)

// A View presents a tree of a mirror, or a directory of it, as files under a path. It serves other
// code that reads repositories, such as git_pillar. It is safe for concurrent use.
type View struct {
	place place
	list  func(ctx context.Context) (*listing, error)
}

// NewView returns the files of a tree below root, under mount; both may be "". It returns an error
// if one of them is not a path that stays inside.
func NewView(m *mirror.Mirror, tree mirror.Hash, root, mount string) (*View, error) {
	root, rootErr := cleanPath(root)
	mount, mountErr := cleanMount(mount)
	if err := errors.Join(rootErr, mountErr); err != nil {
		return nil, fmt.Errorf("%s: root or mountpoint %w", m.URL(), err)
	}
	v := &View{place: place{&remote{mirror: m}, tree, root, mount}}
	v.list = v.once()
	return v, nil
}

// once returns a function that reads the list once and caches it: a tree does not change.
func (v *View) once() func(context.Context) (*listing, error) {
	var mu sync.Mutex
	var kept *listing
	return func(ctx context.Context) (*listing, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil {
			return kept, nil
		}
		l, err := v.place.read(ctx)
		if err == nil {
			kept = l
		}
		return l, err
	}
}

// Exists reports whether root is a directory of the tree.
func (v *View) Exists() (bool, error) {
	e, err := v.place.entry(v.place.root)
	if errors.Is(err, errNoFile) {
		return false, nil
	}
	return err == nil && e.Dir(), err
}

// Files returns the paths of all files, sorted; the caller must not change the list.
func (v *View) Files(ctx context.Context) ([]string, error) {
	l, err := v.list(ctx)
	if err != nil {
		return nil, err
	}
	return l.files, nil
}

// Find returns the blob of the file at a path; ok is false if there is none. Links are followed
// within the tree.
func (v *View) Find(name string) (h mirror.Hash, ok bool, err error) {
	inside, ok := v.place.inside(name)
	if !ok {
		return h, false, nil
	}
	e, _, err := v.place.resolve(inside)
	if errors.Is(err, errNoFile) {
		return h, false, nil
	}
	return e.Hash, err == nil, err
}
