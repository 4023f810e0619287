package pki

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// recountAfter is how long a directory that is full is believed to be so.
const recountAfter = time.Second

// pending counts the keys that wait, or were refused, so that a flood of new ids costs neither disk nor a listing each. The count
// stands for as long as the directory has the time that our own last write gave it; who changes it beside us makes it
// counted anew. Which source brought a key is known of those that this program stored itself.
type pending struct {
	mu      sync.Mutex
	limit   int
	each    int // most of one source; below 1 no limit
	count   int
	sources map[string]netip.Prefix // by id
	shares  map[netip.Prefix]int    // how many keys a source has
	writing int                     // calls of add that are under way
	at      time.Time               // of the directory when the count was right
	counted time.Time               // when it was last listed
}

// add runs put, unless id is new and there are as many as may be, in all or of its source. The zero source has no limit of its own.
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

// reserve takes one place, if the key needs one.
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

// hasShare reports whether a source has brought as many keys as it may.
func (p *pending) hasShare(source netip.Prefix) bool {
	return p.each > 0 && source.IsValid() && p.shares[source] >= p.each
}

// note remembers who brought a key.
func (p *pending) note(id string, source netip.Prefix) {
	if _, twice := p.sources[id]; twice || !source.IsValid() {
		return // two sign-ins of one id at the same moment
	}
	if p.sources == nil {
		p.sources, p.shares = map[string]netip.Prefix{}, map[netip.Prefix]int{}
	}
	p.sources[id] = source
	p.shares[source]++
}

// forget drops who brought a key.
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

// refresh lists the directory when somebody else has changed it, or when it seems full and was not listed just now.
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

// keep forgets who brought the keys that are not among names any more.
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

// settle takes the directory's new time as counted, and gives back a place that was not used.
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
