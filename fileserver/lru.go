package fileserver

import "container/list"

// lru is a map with a maximum number of entries; it evicts the least recently used. It is not safe
// for concurrent use.
type lru[K comparable, V any] struct {
	most   int
	onDrop func(K, V) // called for each entry that is dropped or replaced; may be nil
	order  list.List  // of *entry[K, V], the most recently used first
	index  map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int, gone func(K, V)) *lru[K, V] {
	return &lru[K, V]{most: most, onDrop: gone, index: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e := l.index[k]
	if e == nil {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// peek is get without marking the entry as used.
func (l *lru[K, V]) peek(k K) (v V, ok bool) {
	e := l.index[k]
	if e == nil {
		return v, false
	}
	return e.Value.(*entry[K, V]).value, true
}

// last moves an entry to the end, so that it is evicted next.
func (l *lru[K, V]) last(k K) {
	if e := l.index[k]; e != nil {
		l.order.MoveToBack(e)
	}
}

func (l *lru[K, V]) set(k K, v V) {
	l.drop(k)
	l.index[k] = l.order.PushFront(&entry[K, V]{k, v})
	for l.order.Len() > l.most {
		l.dropOldest()
	}
}

func (l *lru[K, V]) drop(k K) {
	if e := l.index[k]; e != nil {
		l.remove(e)
	}
}

// oldest returns the entry that is evicted next.
func (l *lru[K, V]) oldest() (k K, v V, ok bool) {
	e := l.order.Back()
	if e == nil {
		return k, v, false
	}
	was := e.Value.(*entry[K, V])
	return was.key, was.value, true
}

func (l *lru[K, V]) dropOldest() {
	if e := l.order.Back(); e != nil {
		l.remove(e)
	}
}

func (l *lru[K, V]) remove(e *list.Element) {
	was := l.order.Remove(e).(*entry[K, V])
	delete(l.index, was.key)
	if l.onDrop != nil {
		l.onDrop(was.key, was.value)
	}
}

func (l *lru[K, V]) len() int { return l.order.Len() }
