package pki

import (
	"errors"
	"sync"
	"time"
)

// recountAfter is how long a folder that is full is believed to be so.
const recountAfter = time.Second

// pending counts the keys that wait, or were refused, so that a flood of new ids costs neither disk nor a listing each. The count
// stands for as long as the folder has the time that our own last write gave it; who changes it beside us makes it
// counted anew.
type pending struct {
	mu      sync.Mutex
	limit   int
	count   int
	writing int       // calls of add that are under way
	at      time.Time // of the folder when the count was right
	counted time.Time // when it was last listed
}

// add runs put, unless id is new and there are as many as may be.
func (p *pending) add(r *room, id string, put func() error) error {
	if p.limit < 0 {
		return put()
	}
	_, err := r.regular(id)
	isNew := errors.Is(err, ErrNotFound)
	if err := p.reserve(r, isNew); err != nil {
		return err
	}
	err = put()
	p.settle(r, isNew && err != nil)
	return err
}

// reserve takes one place, if the key needs one.
func (p *pending) reserve(r *room, isNew bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(r); err != nil {
		return err
	}
	if isNew && p.count >= p.limit {
		return ErrPendingFull
	}
	if isNew {
		p.count++
	}
	p.writing++
	return nil
}

// refresh lists the folder when somebody else has changed it, or when it seems full and was not listed just now.
func (p *pending) refresh(r *room) error {
	if p.writing > 0 {
		return nil
	}
	info, err := r.root.Stat(".")
	if err != nil {
		return err
	}
	full := p.count >= p.limit && time.Since(p.counted) > recountAfter
	if info.ModTime().Equal(p.at) && !full {
		return nil
	}
	names, err := r.names()
	if err != nil {
		return err
	}
	p.count, p.at, p.counted = len(names), info.ModTime(), time.Now()
	return nil
}

// settle takes the folder's new time as counted, and gives back a place that was not used.
func (p *pending) settle(r *room, unused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing--
	if unused {
		p.count--
	}
	p.at = time.Time{}
	if info, err := r.root.Stat("."); err == nil {
		p.at = info.ModTime()
	}
}
