package crypto

import (
	"sync"

	"github.com/brineproject/brine/data"
)

// A Serial refuses messages that were seen before: publications of one key are numbered from 1 upwards, and each
// must have a higher number than the last (salt/crypt.py: Crypticle.loads). A key that the master makes anew starts
// with a new Serial. The zero Serial waits for 1 or more. Several goroutines may use it.
type Serial struct {
	mu   sync.Mutex
	last int64
}

// NewSerial returns a Serial that has seen last, for a reader that remembers it over a restart.
func NewSerial(last int64) *Serial {
	return &Serial{last: last}
}

// Last returns the highest number seen, 0 for none.
func (s *Serial) Last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Next counts one message up and returns its number, for a sender.
func (s *Serial) Next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// Accept reports whether n is higher than all before it, and remembers it if so.
func (s *Serial) Accept(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.last {
		return false
	}
	s.last = n
	return true
}

// Take removes the field serial from a message and reports whether the message may be used: it may without the
// field, and with one that Accept accepts. A serial that is no integer is not accepted.
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
