// Package logging writes what a program has to say, in the formats and to the places that Salt's options name.
//
// A Log is a logrus logger, so that every package below logs by logrus alone. It writes each entry to the console, and
// to the log file or the syslog that log_file names; each has a level and a format of its own. Three fields of an entry
// have a meaning: name is the part of the program that speaks (salt.master; the program itself when there is none), jid
// is the job that it speaks of, and error is put behind the message. The others follow in square brackets.
//
// A log must never be the reason that a daemon stops: what cannot be written is lost and counted, and the next line that
// can be written is preceded by one that gives the count. A syslog on the network has a bounded queue before it.
//
// What a peer sends is often logged: control characters are quoted, so that nobody writes lines of his own. Values given
// to Hide, and private keys, are replaced by asterisks.
package logging

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// Options are what the program itself says of its log.
type Options struct {
	Console io.Writer // nil: no console, as in the background
	Program string    // such as salt.master: %(name)s of entries that have no name; "" is salt
	PID     int       // %(process)d
}

// A Log writes to the console and to the log file. Several goroutines may use it.
type Log struct {
	*logrus.Logger

	options Options
	start   time.Time
	console *writer
	secrets secrets

	applying sync.Mutex   // one Apply at a time
	mu       sync.RWMutex // held for writing while the sinks change
	sinks    *sinks
}

// Discard returns a log that writes nothing, for those who are given none.
func Discard() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// New opens a log; Close it at the end. The error names the option that is wrong; it wraps that of the system when the
// log file cannot be opened. A syslog that is down is none: lines wait for it.
func New(s Settings, o Options) (*Log, error) {
	if o.Program == "" {
		o.Program = "salt"
	}
	l := &Log{Logger: logrus.New(), options: o, start: time.Now(), sinks: &sinks{}}
	l.console = &writer{to: o.Console}
	l.SetOutput(io.Discard)
	l.SetFormatter(discard{})
	l.AddHook(hook{l})
	if err := l.Apply(s); err != nil {
		return nil, err
	}
	return l, nil
}

// Apply makes the log follow s from the next entry on. On an error everything stays as it was. A log file that stays the
// same stays open.
func (l *Log) Apply(s Settings) error {
	l.applying.Lock()
	defer l.applying.Unlock()
	next, err := l.open(s, l.sinks)
	if err != nil {
		return err
	}
	if f, ok := next.file.target.(*file); ok {
		f.limit(s.RotateBytes, s.RotateBackups)
	}
	l.SetReportCaller(next.showsCaller())
	l.SetLevel(next.loosest().logrus())
	_ = l.swap(next).close(next) // the next one is open
	return nil
}

// swap sets the sinks, and returns those that there were when nobody writes to them any more.
func (l *Log) swap(next *sinks) *sinks {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.sinks
	l.sinks = next
	return last
}

// Reopen opens the log file anew, for when it was moved away. On an error it writes to the old one further on, and
// tries again within seconds.
func (l *Log) Reopen() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.sinks.file.target == nil {
		return nil
	}
	if err := l.sinks.file.target.reopen(); err != nil {
		return fmt.Errorf("log_file: %w", err)
	}
	return nil
}

// Close closes the log file, or waits until the syslog has what was logged, a few seconds at most. What is logged
// afterwards goes to the console alone.
func (l *Log) Close() error {
	l.applying.Lock()
	defer l.applying.Unlock()
	next := *l.sinks
	next.path, next.file.target = "", nil
	return l.swap(&next).close(&next)
}

// tellOutage says on the console that the syslog is away.
func (l *Log) tellOutage(err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if to := &l.sinks.console; to.target != nil && Error >= to.level {
		text := fmt.Sprintf("The syslog of log_file cannot be reached, its lines wait: %v", err)
		to.target.write(line{text: to.own(l, Error, text), level: Error, notice: to.notice(l)})
	}
}

// discard is the formatter of a logger whose hook does the writing.
type discard struct{}

func (discard) Format(*logrus.Entry) ([]byte, error) { return nil, nil }

// hook gives the entries of the logger to the sinks of its log.
type hook struct{ log *Log }

// Levels is for logrus: all of them.
func (hook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire writes one entry. It returns no error: a log that is full must not stop a daemon.
func (h hook) Fire(e *logrus.Entry) error {
	h.log.mu.RLock()
	defer h.log.mu.RUnlock()
	h.log.sinks.write(h.log, e)
	return nil
}
