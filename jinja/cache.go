package jinja

import (
	"container/list"
	"maps"
	"slices"
	"sync"
)

// A Cache keeps parsed templates for environments that share it, the least used leaving first. Environments that share
// one must mean the same by the name of a tag. Several goroutines may use it.
type Cache struct {
	mu     sync.Mutex
	count  int // most templates
	bytes  int // most bytes of source
	used   int
	recent *list.List // of *cached, the last used in front
	byKey  map[cacheKey]*list.Element
}

type cacheKey struct {
	loader, name, version string
	syntax                Syntax
	tags                  string
	nesting               int
}

// fromText stands for the loader of templates that come from no loader.
const fromText = "text"

type cached struct {
	key  cacheKey
	prog *program
}

// NewCache returns a cache of at most so many templates and bytes of their sources.
func NewCache(templates, bytes int) *Cache {
	return &Cache{count: templates, bytes: bytes, recent: list.New(), byKey: map[cacheKey]*list.Element{}}
}

// Len returns the number of templates that are kept.
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
