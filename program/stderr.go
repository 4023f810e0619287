package program

import (
	"bytes"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

// maxText is the most bytes of a line of standard error that are kept.
const maxText = 4096

// stderr logs what a program prints on standard error, and keeps its last line.
type stderr struct {
	log logrus.FieldLogger

	mu    sync.Mutex
	line  []byte
	kept  string
	lines int
}

// Write takes what the program printed.
func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range bytes.Lines(b) {
		if room := maxText - len(s.line); room > 0 {
			s.line = append(s.line, part[:min(room, len(part))]...)
		}
		if part[len(part)-1] == '\n' {
			s.end()
		}
	}
	return len(b), nil
}

// end ends a line.
func (s *stderr) end() {
	text := strings.TrimSpace(string(s.line))
	s.line = s.line[:0]
	if text == "" {
		return
	}
	s.kept = text
	if s.lines++; s.lines <= maxLog {
		s.log.Infof("standard error: %s", text)
	}
}

// last returns the last line.
func (s *stderr) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	return s.kept
}
