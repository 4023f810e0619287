// Package logging writes log entries in the formats and to the destinations set by Salt's options.
//
// A Log is a logrus logger, so other packages use only logrus. It writes each entry to the console
// and to the log file or syslog named by log_file, each with its own level and format. Three fields
// of an entry have a meaning: name is the component that logs (salt.master; the program itself by
// default), jid is the job concerned, and error is appended to the message. Other fields follow in
// square brackets.
//
// Logging must never stop a daemon. Lines that cannot be written are dropped and counted, and the
// next successful line is preceded by one with the count. A network syslog has a bounded queue.
//
// Log entries often contain data from peers. Control characters are quoted, so that a peer cannot
// forge log lines. Values passed to Hide, and private keys, are replaced by asterisks.
package logging

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// Options are the properties of the program that logs.
type Options struct {
	Console io.Writer // nil means no console, as in the background
	Program string    // default of %(name)s, such as salt.master; "" means salt
	PID     int       // %(process)d
}

// A Log writes to the console and to the log file. It is safe for concurrent use.
type Log struct {
	*logrus.Logger

	options Options
	start   time.Time
	console *writer
	secrets secrets

	applying sync.Mutex   // serializes Apply
	mu       sync.RWMutex // held for writing while the sinks are replaced
	sinks    *sinks
}

// Discard returns a logger that writes nothing, for use as a default.
func Discard() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// New opens a log. The caller must call Close. The error names the invalid option; it wraps the
// system's error if the log file cannot be opened. A syslog that is down is not an error: lines are
// queued for it.
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

// Apply applies the settings s from the next entry on. After an error nothing has changed. An
// unchanged log file stays open.
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
	_ = l.swap(next).close(next) // the new file is open already
	return nil
}

// swap replaces the sinks. It returns the old ones once no goroutine writes to them.
func (l *Log) swap(next *sinks) *sinks {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.sinks
	l.sinks = next
	return last
}

// Reopen reopens the log file, for use after it was moved away. After an error it continues with
// the old file and retries within seconds.
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

// Close closes the log file, or waits up to a few seconds until queued lines are sent to the
// syslog. Later entries are written to the console only.
func (l *Log) Close() error {
	l.applying.Lock()
	defer l.applying.Unlock()
	next := *l.sinks
	next.path, next.file.target = "", nil
	return l.swap(&next).close(&next)
}

// tellOutage logs on the console that the syslog is not available.
func (l *Log) tellOutage(err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if to := &l.sinks.console; to.target != nil && Error >= to.level {
		text := fmt.Sprintf("The syslog of log_file cannot be reached, its lines wait: %v", err)
		to.target.write(line{text: to.own(l, Error, text), level: Error, notice: to.notice(l)})
	}
}

// discard is the formatter of a logger whose hook writes the entries.
type discard struct{}

func (discard) Format(*logrus.Entry) ([]byte, error) { return nil, nil }

// hook passes the logger's entries to the sinks of its log.
type hook struct{ log *Log }

// Levels returns all levels, for logrus.
func (hook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire writes one entry. It returns no error, since a full log must not stop a daemon.
func (h hook) Fire(e *logrus.Entry) error {
	h.log.mu.RLock()
	defer h.log.mu.RUnlock()
	h.log.sinks.write(h.log, e)
	return nil
}
