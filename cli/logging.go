package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// LogSettings say what a daemon logs where.
type LogSettings struct {
	Level     string // log_level
	File      string // log_file; "" is none
	FileLevel string // log_level_logfile; "" is Level

	console   io.Writer // nil: no console, as in the background
	processID int
}

// LogOf reads the settings from the options of a daemon.
func LogOf(opts *data.Map) LogSettings {
	return LogSettings{Level: opts.Text("log_level"), File: opts.Text("log_file"), FileLevel: opts.Text("log_level_logfile")}
}

// Warn logs the warnings of a configuration.
func Warn(log logrus.FieldLogger, report *config.Report) {
	for _, w := range report.Warnings {
		log.Warn(w)
	}
}

// newLog returns the log of a daemon and what closes it.
func newLog(s LogSettings) (*logrus.Logger, io.Closer, error) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.SetFormatter(discard{})
	sinks := &logSinks{}
	level, err := parseLevel(s.Level)
	if err != nil {
		return nil, nil, err
	}
	if s.console != nil && s.Level != "quiet" {
		sinks.add(&logSink{to: s.console, level: level, format: consoleLine})
	}
	if s.File != "" {
		if err := sinks.addFile(s, level); err != nil {
			return nil, nil, err
		}
	}
	log.SetLevel(sinks.level())
	log.AddHook(sinks)
	return log, sinks, nil
}

func (s *logSinks) addFile(set LogSettings, level logrus.Level) error {
	if set.FileLevel != "" {
		var err error
		if level, err = parseLevel(set.FileLevel); err != nil {
			return err
		}
	}
	if set.FileLevel == "quiet" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(set.File), 0o755); err != nil {
		return fmt.Errorf("log_file: %w", err)
	}
	f, err := os.OpenFile(set.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("log_file: %w", err)
	}
	s.closers = append(s.closers, f)
	s.add(&logSink{to: f, level: level, format: fileLine(set.processID)})
	return nil
}

// parseLevel reads one of Salt's names of levels.
func parseLevel(name string) (logrus.Level, error) {
	switch strings.ToLower(name) {
	case "all", "garbage", "trace":
		return logrus.TraceLevel, nil
	case "debug", "profile":
		return logrus.DebugLevel, nil
	case "info":
		return logrus.InfoLevel, nil
	case "", "warning", "warn":
		return logrus.WarnLevel, nil
	case "error":
		return logrus.ErrorLevel, nil
	case "critical", "quiet":
		return logrus.FatalLevel, nil
	}
	return 0, fmt.Errorf("log level %q is unknown; the levels are %s", name, strings.Join(levelsByWeight(), ", "))
}

// discard is the formatter of a logger whose hook does the writing.
type discard struct{}

func (discard) Format(*logrus.Entry) ([]byte, error) { return nil, nil }

// logSinks write each entry to the places that want it.
type logSinks struct {
	sinks   []*logSink
	closers []io.Closer
}

type logSink struct {
	mu     sync.Mutex
	to     io.Writer
	level  logrus.Level
	format func(*logrus.Entry) []byte
}

func (s *logSinks) add(sink *logSink) { s.sinks = append(s.sinks, sink) }

func (s *logSinks) level() logrus.Level {
	level := logrus.PanicLevel
	for _, sink := range s.sinks {
		level = max(level, sink.level)
	}
	return level
}

// Levels is for logrus: all of them.
func (s *logSinks) Levels() []logrus.Level { return logrus.AllLevels }

// Fire writes one entry. What cannot be written is lost: a log that is full must not stop a daemon.
func (s *logSinks) Fire(e *logrus.Entry) error {
	for _, sink := range s.sinks {
		if e.Level <= sink.level {
			sink.write(e)
		}
	}
	return nil
}

func (s *logSink) write(e *logrus.Entry) {
	line := s.format(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.to.Write(line) // see Fire
}

// Close closes the log files.
func (s *logSinks) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// levelName is Python's name of a level.
func levelName(l logrus.Level) string {
	switch l {
	case logrus.PanicLevel, logrus.FatalLevel:
		return "CRITICAL"
	case logrus.WarnLevel:
		return "WARNING"
	}
	return strings.ToUpper(l.String())
}

// consoleLine is log_fmt_console as Salt has it by default.
func consoleLine(e *logrus.Entry) []byte {
	return fmt.Appendf(nil, "[%-8s] %s\n", levelName(e.Level), message(e))
}

// fileLine is log_fmt_logfile as Salt has it by default, with the program in place of the name of a Python module.
func fileLine(pid int) func(*logrus.Entry) []byte {
	return func(e *logrus.Entry) []byte {
		return fmt.Appendf(nil, "%s [%-17s:%-4d][%-8s][%d] %s\n", e.Time.Format("2006-01-02 15:04:05,000"), "salt", 0, levelName(e.Level), pid, message(e))
	}
}

// message is what an entry says, with its error and fields behind it. Characters by which one who is on the network
// could write lines of its own, or change what a terminal shows, are quoted.
func message(e *logrus.Entry) string {
	var b bytes.Buffer
	b.WriteString(e.Message)
	if err, ok := e.Data[logrus.ErrorKey]; ok {
		fmt.Fprintf(&b, ": %v", err)
	}
	names := make([]string, 0, len(e.Data))
	for name := range e.Data {
		if name != logrus.ErrorKey {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " [%s %v]", name, e.Data[name])
	}
	return quoteControls(b.String())
}

func quoteControls(s string) string {
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\n    ") // lines of our own, such as stacks, stay lines but cannot look like an entry
		case isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isControl(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
