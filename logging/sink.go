package logging

import (
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

// A sink is one place with its level and format; without a target it takes nothing.
type sink struct {
	target target
	level  Level
	format *format
}

// A target takes lines. What it cannot take is lost, and told of before the next line that it takes.
type target interface {
	write(line)
	reopen() error
	io.Closer
}

// A line is an entry as a target gets it.
type line struct {
	text   string // without its end
	level  Level
	notice func(lost int64, why error) string // the text of a line that tells of lost ones
}

// open reads the levels and formats of s and opens its targets; it takes the log file over from last when that is the
// same.
func (l *Log) open(s Settings, last *sinks) (*sinks, error) {
	next, err := readSettings(s)
	if err != nil {
		return nil, err
	}
	if l.options.Console != nil && next.console.level < Quiet {
		next.console.target = l.console
	}
	if s.File == "" || next.file.level >= Quiet {
		return next, nil
	}
	if next.path = s.File; last.path == s.File {
		next.file.target = last.file.target
		return next, nil
	}
	if next.file.target, err = l.openTarget(s); err != nil {
		return nil, fmt.Errorf("log_file: %w", err)
	}
	return next, nil
}

func (l *Log) openTarget(s Settings) (target, error) {
	to, ok, err := parseSyslog(s.File)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return openSyslog(to, l.tellOutage), nil
	}
	return openFile(s.File)
}

// writer is the target for the console.
type writer struct {
	to     io.Writer
	losses losses
}

func (w *writer) write(l line)  { w.losses.write(w.to, l) }
func (w *writer) reopen() error { return nil }
func (w *writer) Close() error  { return nil }

// notice returns the line that tells of lost ones, in the format of the sink.
func (s *sink) notice(log *Log) func(int64, error) string {
	return func(lost int64, why error) string {
		return s.own(log, Warning, fmt.Sprintf("Log lines lost before this one: %d (%v)", lost, why))
	}
}

// own returns a line that the log itself has to say.
func (s *sink) own(log *Log, level Level, text string) string {
	e := &logrus.Entry{Time: time.Now(), Message: text}
	return s.render(log.newRecord(e, level, log.options.Program))
}

// render returns the text of a record.
func (s *sink) render(r *record) string { return string(s.format.append(nil, r)) }
