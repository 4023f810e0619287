package logging

import (
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

// A sink is one destination with its level and format. Without a target it writes nothing.
type sink struct {
	target target
	level  Level
	format *format
}

// A target writes lines. Lines that it cannot write are dropped, and reported before the next
// successful line.
type target interface {
	write(line)
	reopen() error
	io.Closer
}

// A line is a formatted entry.
type line struct {
	text   string // without line end
	level  Level
	notice func(lost int64, why error) string // formats a notice about lost lines
}

// open parses the levels and formats of s and opens its targets. It reuses the log file of last if
// that has not changed.
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

// writer is the console target.
type writer struct {
	to     io.Writer
	losses losses
}

func (w *writer) write(l line)  { w.losses.write(w.to, l) }
func (w *writer) reopen() error { return nil }
func (w *writer) Close() error  { return nil }

// notice returns a function that formats the notice about lost lines for the sink.
func (s *sink) notice(log *Log) func(int64, error) string {
	return func(lost int64, why error) string {
		return s.own(log, Warning, fmt.Sprintf("Log lines lost before this one: %d (%v)", lost,
			why))
	}
}

// own formats a line logged by the log itself.
func (s *sink) own(log *Log, level Level, text string) string {
	e := &logrus.Entry{Time: time.Now(), Message: text}
	return s.render(log.newRecord(e, level, log.options.Program))
}

// render returns the formatted record.
func (s *sink) render(r *record) string { return string(s.format.append(nil, r)) }
