package crypto

import (
	"sync"

	"github.com/brineproject/brine/data"
)

// A Serial rejects replayed messages: publications under one key are numbered from 1, and each must
// have a higher number than the last (salt/crypt.py: Crypticle.loads). A new key of the master
// needs a new Serial. The zero Serial expects 1 or more. It is safe for concurrent use.
type Serial struct {
	mu   sync.Mutex
	last int64
}

// NewSerial returns a Serial that has seen last, for a reader that saves it across restarts.
func NewSerial(last int64) *Serial {
	return &Serial{last: last}
}

// Last returns the highest number seen, or 0.
func (s *Serial) Last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Next increments the number and returns it, for a sender.
func (s *Serial) Next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// Accept reports whether n is higher than all earlier numbers, and if so records it.
func (s *Serial) Accept(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.last {
		return false
	}
	s.last = n
	return true
}

// Take removes the field serial from a message and reports whether the message is acceptable: it
// has no such field, or Accept accepts its value. A serial that is not an integer is rejected.
func (s *Serial) Take(message *data.Map) bool {
	v, ok := message.Get("serial")
	if !ok {
		return true
	}
	message.Delete("serial")
	switch n := v.(type) {
	case int64:
		return s.Accept(n)
	case int:
		return s.Accept(int64(n))
	}
	return false
}
