package logging

import (
	"io"
	"sync"
)

// losses writes lines and counts those that could not be written.
type losses struct {
	mu   sync.Mutex // serializes writes
	lost int64
	why  error
	torn bool // the last write ended within a line
}

// write writes l, after a notice about lost lines if there are any.
func (s *losses) write(to io.Writer, l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeLocked(to, l)
}

// writeLocked is write for a caller that holds the lock.
func (s *losses) writeLocked(to io.Writer, l line) {
	if s.lost > 0 {
		if err := s.put(to, l.notice(s.lost, s.why)); err != nil {
			s.lose(err)
			return
		}
		s.lost, s.why = 0, nil
	}
	if err := s.put(to, l.text); err != nil {
		s.lose(err)
	}
}

func (s *losses) lose(err error) {
	s.lost++
	s.why = err
}

// put writes a line with its end. It starts a new line after an incomplete write.
func (s *losses) put(to io.Writer, text string) error {
	b := make([]byte, 0, len(text)+2)
	if s.torn {
		b = append(b, '\n')
	}
	b = append(append(b, text...), '\n')
	n, err := to.Write(b)
	if n > 0 && n < len(b) {
		s.torn = true
	} else if err == nil {
		s.torn = false
	}
	return err
}
