package fileserver

import "container/list"

// lru is a map of at most so many entries; the one that was not used for the longest time gives way. It is for one
// goroutine at a time.
type lru[K comparable, V any] struct {
	most  int
	gone  func(K, V) // called with each entry that is dropped or replaced; may be nil
	order list.List  // of *entry[K, V], the last used first
	index map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int, gone func(K, V)) *lru[K, V] {
	return &lru[K, V]{most: most, gone: gone, index: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e := l.index[k]
	if e == nil {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// peek is get without making the entry used.
func (l *lru[K, V]) peek(k K) (v V, ok bool) {
	e := l.index[k]
	if e == nil {
		return v, false
	}
	return e.Value.(*entry[K, V]).value, true
}

// last makes an entry the one that gives way next.
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

// oldest returns the entry that gives way next.
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
	if l.gone != nil {
		l.gone(was.key, was.value)
	}
}

func (l *lru[K, V]) len() int { return l.order.Len() }
