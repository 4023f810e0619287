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

	applying sync.Mutex   // one Apply at a time
	mu       sync.RWMutex // held for writing while the sinks change
	sinks    *sinks
}

// New opens a log; Close it at the end. The error names the option that is wrong; it wraps that of the system when the
// log file cannot be opened. A syslog that is down is none: lines wait for it.
func New(s Settings, o Options) (*Log, error) {
	if o.Program == "" {
		o.Program = "salt"
	}
	l := &Log{Logger: logrus.New(), options: o, start: time.Now(), sinks: &sinks{}}
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
	l.mu.Lock()
	last := l.sinks
	l.sinks = next
	l.SetLevel(next.loosest().logrus())
	l.mu.Unlock()
	if last.file.target != next.file.target {
		return last.close()
	}
	return nil
}

// Reopen opens the log file anew, for when it was moved away. On an error it writes to the old one further on, and
// tries again within seconds.
func (l *Log) Reopen() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sinks.reopen()
}

// Close closes the log file, or waits for up to two seconds until the syslog has what was logged. What is logged
// afterwards goes to the console alone.
func (l *Log) Close() error {
	l.applying.Lock()
	defer l.applying.Unlock()
	l.mu.Lock()
	last := l.sinks
	l.sinks = &sinks{console: last.console}
	l.mu.Unlock()
	return last.close()
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
	h.log.sinks.write(e)
	return nil
}
