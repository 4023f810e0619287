package fileserver

import (
	"sync"
	"time"
)

// A Latest shares the result of an expensive computation among concurrent callers. Each caller gets
// a value whose computation began after its call; callers that arrive during a computation share
// the next one. The zero value is ready to use.
type Latest[T any] struct {
	mu    sync.Mutex
	began time.Time
	value T
}

// Get returns a value that is not older than the call. compute gets the previous value, or the zero
// value at first.
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
		return value, err // only this caller gets the error; the next one tries again
	}
	l.value, l.began = value, began
	return value, nil
}
