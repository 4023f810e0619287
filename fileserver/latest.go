package fileserver

import (
	"sync"
	"time"
)

// A Latest is a value that costs something to compute, for many who ask at once: each gets one whose computation began
// after it had asked, and those who ask while one is under way share the next. The zero value is ready.
type Latest[T any] struct {
	mu    sync.Mutex
	began time.Time
	value T
	err   error
}

// Get returns a value that is not older than the call. compute gets the last one, the zero value at first.
func (l *Latest[T]) Get(compute func(last T) (T, error)) (T, error) {
	asked := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(asked) {
		return l.value, l.err
	}
	began := time.Now()
	l.value, l.err = compute(l.value)
	l.began = began
	return l.value, l.err
}
