package logging

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sirupsen/logrus"
)

// sinks are the destinations for one set of settings.
type sinks struct {
	console, file sink

	path     string // log_file, if its target is open
	jid      *format
	granular map[string]Level
}

// readSettings returns sinks without targets.
func readSettings(s Settings) (*sinks, error) {
	r := settingsReader{}
	next := &sinks{granular: r.granular(s.Granular)}
	next.console.level = r.level("log_level", s.Level)
	next.file.level = next.console.level
	if s.FileLevel != "" {
		next.file.level = r.level("log_level_logfile", s.FileLevel)
	}
	next.console.format = r.format("log_fmt_console", or(s.ConsoleFormat, defaultConsoleFormat),
		or(s.ConsoleDate, defaultConsoleDate))
	next.file.format = r.format("log_fmt_logfile", or(s.FileFormat, defaultFileFormat),
		or(s.FileDate, defaultFileDate))
	var err error
	next.jid, err = parseJID(or(s.JIDFormat, defaultJIDFormat))
	r.keep("log_fmt_jid", err)
	return next, r.err
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// settingsReader records the first error with its option.
type settingsReader struct{ err error }

func (r *settingsReader) keep(option string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: %w", option, err)
	}
}

func (r *settingsReader) level(option, name string) Level {
	level, err := ParseLevel(name)
	r.keep(option, err)
	return level
}

func (r *settingsReader) format(option, text, date string) *format {
	f, err := parseFormat(text, date)
	r.keep(option, err)
	return f
}

func (r *settingsReader) granular(names map[string]string) map[string]Level {
	levels := make(map[string]Level, len(names))
	for name, level := range names {
		levels[name] = r.level("log_granular_levels: "+name, level)
	}
	return levels
}

// each yields the sinks that have a target.
func (s *sinks) each(yield func(*sink) bool) {
	for _, to := range []*sink{&s.console, &s.file} {
		if to.target != nil && !yield(to) {
			return
		}
	}
}

// write passes an entry to the sinks that accept its level.
func (s *sinks) write(log *Log, e *logrus.Entry) {
	level, name := levelOf(e), log.nameOf(e)
	if level < s.granularLevel(name) {
		return
	}
	var r *record
	for to := range s.each {
		if level < to.level {
			continue
		}
		if r == nil {
			r = s.record(log, e, level, name)
		}
		to.target.write(line{text: to.render(r), level: level, notice: to.notice(log)})
	}
}

func (s *sinks) record(log *Log, e *logrus.Entry, level Level, name string) *record {
	r := log.newRecord(e, level, name)
	if r.jid != "" {
		r.shownJID = string(s.jid.append(nil, r))
	}
	return r
}

// granularLevel returns the level of the logger with that name, or of its nearest ancestor that has
// one, as in Python's logger hierarchy. Without any, only the levels of the sinks apply.
func (s *sinks) granularLevel(name string) Level {
	for len(s.granular) > 0 {
		if level, ok := s.granular[name]; ok {
			return level
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		name = name[:dot]
	}
	return All
}

// loosest returns the lowest level that any sink accepts.
func (s *sinks) loosest() Level {
	level := Quiet
	for to := range s.each {
		level = min(level, to.level)
	}
	return level
}

// showsCaller reports whether a sink shows where entries were logged.
func (s *sinks) showsCaller() bool {
	for to := range s.each {
		if to.format.caller {
			return true
		}
	}
	return false
}

// close closes the log file unless next uses it too.
func (s *sinks) close(next *sinks) error {
	if s.file.target == nil || s.file.target == next.file.target {
		return nil
	}
	if err := s.file.target.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("log_file: %w", err)
	}
	return nil
}
