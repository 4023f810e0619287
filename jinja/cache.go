package jinja

import (
	"container/list"
	"maps"
	"slices"
	"sync"
)

// A Cache holds parsed templates for environments that share it, and evicts the least recently
// used. Environments that share one must use the same tags by the same names. It is safe for
// concurrent use.
type Cache struct {
	mu     sync.Mutex
	count  int // maximum number of templates
	bytes  int // maximum bytes of source
	used   int
	recent *list.List // of *cached, the most recently used in front
	byKey  map[cacheKey]*list.Element
}

type cacheKey struct {
	loader, name, version string
	syntax                Syntax
	tags                  string
	nesting               int
}

// fromText is the loader name for templates without a loader.
const fromText = "text"

type cached struct {
	key  cacheKey
	prog *program
}

// NewCache returns a cache for at most that many templates and bytes of their sources.
func NewCache(templates, bytes int) *Cache {
	return &Cache{count: templates, bytes: bytes, recent: list.New(),
		byKey: map[cacheKey]*list.Element{}}
}

// Len returns the number of cached templates.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey)
}

func (c *Cache) get(k cacheKey) *program {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).prog
}

func (c *Cache) put(k cacheKey, p *program) {
	if c == nil || len(p.source) > c.bytes || c.count < 1 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[k] != nil {
		return
	}
	c.byKey[k] = c.recent.PushFront(&cached{k, p})
	c.used += len(p.source)
	for len(c.byKey) > c.count || c.used > c.bytes {
		e := c.recent.Back()
		old := c.recent.Remove(e).(*cached)
		delete(c.byKey, old.key)
		c.used -= len(old.prog.source)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
