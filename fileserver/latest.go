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
}

// Get returns a value that is not older than the call. compute gets the last one, the zero value at first.
func (l *Latest[T]) Get(compute func(last T) (T, error)) (T, error) {
	asked := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(asked) {
		return l.value, nil
	}
	began := time.Now()
	value, err := compute(l.value)
	if err != nil {
		return value, err // of this caller; the next one tries again
	}
	l.value, l.began = value, began
	return value, nil
}
