package auth

import (
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
)

// A census knows the files of a token store and whose they are. Other programs add and delete files too, so
// that it is renewed before a token is refused.
type census struct {
	most, mostOfName int

	counting sync.Mutex // held by who reads the directory
	mu       sync.Mutex
	holders  map[string]holder // by file
	files    map[holder]int
	last     time.Time // when the directory was read; zero: never
}

// A holder is a name at a system of external_auth. All API keys have the same.
type holder struct{ system, name string }

func holderOf(m *data.Map) holder {
	if m.Text("eauth") == KeySystem {
		return holder{KeySystem, ""}
	}
	return holder{m.Text("eauth"), m.Text("name")}
}

func newCensus() *census {
	return &census{most: mostTokens, mostOfName: mostTokensOfName,
		holders: map[string]holder{}, files: map[holder]int{}}
}

func (c *census) add(file string, who holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.holders[file]; !known {
		c.holders[file] = who
		c.files[who]++
	}
}

func (c *census) remove(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(file)
}

func (c *census) drop(file string) {
	who, known := c.holders[file]
	if !known {
		return
	}
	delete(c.holders, file)
	if c.files[who]--; c.files[who] <= 0 {
		delete(c.files, who)
	}
}

func (c *census) knows(file string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.holders[file]
	return known
}

// keep forgets all files but these.
func (c *census) keep(files []string, now time.Time) {
	there := make(map[string]bool, len(files))
	for _, file := range files {
		there[file] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for file := range c.holders {
		if !there[file] {
			c.drop(file)
		}
	}
	c.last = now
}

// full returns why there is no room for a token of a holder. fresh says that the directory has been read
// within the last second.
func (c *census) full(who holder, now time.Time) (fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh = !c.last.IsZero() && now.Sub(c.last) < time.Second
	switch {
	case c.last.IsZero(), len(c.holders) >= c.most:
		err = errFull
	case who.system != KeySystem && c.files[who] >= c.mostOfName:
		err = fmt.Errorf("%s (%s) has %d: %w", clip(who.name), clip(who.system), c.files[who], errFull)
	}
	return fresh, err
}

// room returns an error if there is no room for a token of a holder.
func (t *Tokens) room(who holder) error {
	fresh, err := t.census.full(who, t.now())
	if err == nil || fresh {
		return err
	}
	if err := t.recount(); err != nil {
		return err
	}
	_, err = t.census.full(who, t.now())
	return err
}

// recount reads the directory, and the files that are new in it.
func (t *Tokens) recount() error {
	c := t.census
	c.counting.Lock()
	defer c.counting.Unlock()
	all, err := t.List()
	if err != nil {
		return err
	}
	began := t.now()
	for _, file := range all {
		if c.knows(file) {
			continue
		}
		if m, _, err := t.load(file); err == nil {
			c.add(file, holderOf(m))
		}
	}
	all, err = t.List() // others may have changed it meanwhile
	if err != nil {
		return err
	}
	c.keep(all, began)
	return nil
}
