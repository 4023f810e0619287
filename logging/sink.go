package logging

import (
	"fmt"
	"io"
	"sync"

	"github.com/sirupsen/logrus"
)

// sinks are the places that entries go to.
type sinks struct{ console, file sink }

// A sink is one place with its level and format; without a target it takes nothing.
type sink struct {
	target target
	level  Level
	format func(*logrus.Entry) []byte
}

// A target takes lines, each with its end. What it cannot take is lost.
type target interface {
	write(line []byte, level Level)
	reopen() error
	io.Closer
}

// open returns the sinks for s; it takes the file over from last when that is the same.
func (l *Log) open(s Settings, last *sinks) (*sinks, error) {
	level, err := ParseLevel(s.Level)
	if err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	fileLevel := level
	if s.FileLevel != "" {
		if fileLevel, err = ParseLevel(s.FileLevel); err != nil {
			return nil, fmt.Errorf("log_level_logfile: %w", err)
		}
	}
	next := &sinks{}
	if l.options.Console != nil && level < Quiet {
		next.console = sink{target: &writer{to: l.options.Console}, level: level, format: consoleLine}
	}
	if s.File == "" || fileLevel >= Quiet {
		return next, nil
	}
	to, err := openFile(s.File)
	if err != nil {
		return nil, fmt.Errorf("log_file: %w", err)
	}
	next.file = sink{target: to, level: fileLevel, format: fileLine(l.options)}
	return next, nil
}

func (s *sinks) write(e *logrus.Entry) {
	level := levelOf(e)
	for _, to := range []*sink{&s.console, &s.file} {
		if to.target != nil && level >= to.level {
			to.target.write(to.format(e), level)
		}
	}
}

// loosest returns the level below which no sink takes anything.
func (s *sinks) loosest() Level {
	level := Quiet
	for _, to := range []*sink{&s.console, &s.file} {
		if to.target != nil {
			level = min(level, to.level)
		}
	}
	return level
}

func (s *sinks) reopen() error {
	if s.file.target == nil {
		return nil
	}
	return s.file.target.reopen()
}

func (s *sinks) close() error {
	if s.file.target == nil {
		return nil
	}
	return s.file.target.Close()
}

// writer is the target for what is open already.
type writer struct {
	mu sync.Mutex
	to io.Writer
}

func (w *writer) write(line []byte, _ Level) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(line)
}

func (w *writer) reopen() error { return nil }
func (w *writer) Close() error  { return nil }
