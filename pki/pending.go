package pki

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// recountAfter is how long a full directory is assumed to stay full.
const recountAfter = time.Second

// pending counts waiting or refused keys, so that a flood of new ids costs neither disk space nor a
// directory listing per id. The count is valid while the directory has the time of our own last
// write; changes by others trigger a recount. Sources are known only for keys stored by this
// process.
type pending struct {
	mu      sync.Mutex
	limit   int
	each    int // limit per source; below 1 no limit
	count   int
	sources map[string]netip.Prefix // by id
	shares  map[netip.Prefix]int    // number of keys per source
	writing int                     // running calls of add
	at      time.Time               // directory time at which the count was correct
	counted time.Time               // time of the last listing
}

// add runs put, unless id is new and the total limit or the limit of its source is reached. The
// zero source has no limit of its own.
func (p *pending) add(r *room, id string, source netip.Prefix, put func() error) error {
	if p.limit < 0 {
		return put()
	}
	_, err := r.regular(id)
	isNew := errors.Is(err, ErrNotFound)
	if err := p.reserve(r, id, source, isNew); err != nil {
		return err
	}
	err = put()
	p.settle(r, id, isNew && err != nil)
	return err
}

// reserve counts a new key, if a place is free.
func (p *pending) reserve(r *room, id string, source netip.Prefix, isNew bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(r, source); err != nil {
		return err
	}
	switch {
	case isNew && p.count >= p.limit:
		return ErrPendingFull
	case isNew && p.hasShare(source):
		return fmt.Errorf("%d came from %s: %w", p.shares[source], source, ErrPendingFull)
	case isNew:
		p.count++
		p.note(id, source)
	}
	p.writing++
	return nil
}

// hasShare reports whether a source has reached its limit.
func (p *pending) hasShare(source netip.Prefix) bool {
	return p.each > 0 && source.IsValid() && p.shares[source] >= p.each
}

// note records the source of a key.
func (p *pending) note(id string, source netip.Prefix) {
	if _, twice := p.sources[id]; twice || !source.IsValid() {
		return // two concurrent sign-ins with one id
	}
	if p.sources == nil {
		p.sources, p.shares = map[string]netip.Prefix{}, map[netip.Prefix]int{}
	}
	p.sources[id] = source
	p.shares[source]++
}

// forget removes the source of a key.
func (p *pending) forget(id string) {
	source, ok := p.sources[id]
	if !ok {
		return
	}
	delete(p.sources, id)
	if p.shares[source]--; p.shares[source] == 0 {
		delete(p.shares, source)
	}
}

// refresh recounts the directory if others have changed it, or if it seems full and was not listed
// recently.
func (p *pending) refresh(r *room, source netip.Prefix) error {
	if p.writing > 0 {
		return nil
	}
	info, err := r.root.Stat(".")
	if err != nil {
		return err
	}
	full := (p.count >= p.limit || p.hasShare(source)) && time.Since(p.counted) > recountAfter
	if info.ModTime().Equal(p.at) && !full {
		return nil
	}
	names, err := r.names()
	if err != nil {
		return err
	}
	p.count, p.at, p.counted = len(names), info.ModTime(), time.Now()
	p.keep(names)
	return nil
}

// keep forgets the sources of keys that are not among names.
func (p *pending) keep(names []string) {
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	for id := range p.sources {
		if !there[id] {
			p.forget(id)
		}
	}
}

// settle records the directory's new time, and releases a place that was not used.
func (p *pending) settle(r *room, id string, unused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing--
	if unused {
		p.count--
		p.forget(id)
	}
	p.at = time.Time{}
	if info, err := r.root.Stat("."); err == nil {
		p.at = info.ModTime()
	}
}
