package logging

import (
	"fmt"

	"github.com/brineproject/brine/data"
)

// Settings are the options of a log, as the configuration has them. The zero value writes warnings to the console in
// Salt's format.
type Settings struct {
	Level     string // log_level, a name of Levels; "" is warning, and quiet writes nothing to the console
	FileLevel string // log_level_logfile; "" is Level
	File      string // log_file: a path, or the file, udp or tcp URL of a syslog; "" is none

	ConsoleFormat string // log_fmt_console: a format of Python's %, or json; "" is Salt's default
	FileFormat    string // log_fmt_logfile, likewise
	ConsoleDate   string // log_datefmt_console or log_datefmt, for strftime; "" is Salt's default
	FileDate      string // log_datefmt_logfile, likewise
	JIDFormat     string // log_fmt_jid: how %(jid)s prints a job ID; "" is Salt's default

	Granular map[string]string // log_granular_levels: name → level, for that name and those below it

	RotateBytes   int64 // log_rotate_max_bytes: a file that would get this long is rotated; 0 is never
	RotateBackups int   // log_rotate_backup_count: how many old files are kept; 0 is never to rotate
}

// What Salt has by default (salt/_logging/impl.py).
const (
	defaultConsoleFormat = "[%(levelname)-8s] %(message)s"
	defaultFileFormat    = "%(asctime)s,%(msecs)03d [%(name)-17s:%(lineno)-4d][%(levelname)-8s][%(process)d] %(message)s"
	defaultConsoleDate   = "%H:%M:%S"
	defaultFileDate      = "%Y-%m-%d %H:%M:%S"
	defaultJIDFormat     = "[JID: %(jid)s]"
)

// SettingsOf reads the settings from the options of a program. An option of the wrong type is an error; whether levels
// and formats mean something shows New.
func SettingsOf(opts *data.Map) (Settings, error) {
	r := reader{opts: opts}
	s := Settings{
		Level: r.text("log_level"), FileLevel: r.text("log_level_logfile"), File: r.text("log_file"),
		ConsoleFormat: r.text("log_fmt_console"), FileFormat: r.text("log_fmt_logfile"), JIDFormat: r.text("log_fmt_jid"),
		ConsoleDate: r.text("log_datefmt_console"), FileDate: r.text("log_datefmt_logfile"), Granular: r.levels("log_granular_levels"),
		RotateBytes: r.number("log_rotate_max_bytes"), RotateBackups: int(r.number("log_rotate_backup_count")),
	}
	if date := r.text("log_datefmt"); s.ConsoleDate == "" {
		s.ConsoleDate = date
	}
	return s, r.err
}

// Check returns the error that New would give for s, without opening anything: one of a log file shows at New alone.
func Check(s Settings) error {
	read, err := readSettings(s)
	if err != nil || s.File == "" || read.file.level >= Quiet {
		return err
	}
	if _, _, err := parseSyslog(s.File); err != nil {
		return fmt.Errorf("log_file: %w", err)
	}
	return nil
}

// reader reads options and keeps the first error.
type reader struct {
	opts *data.Map
	err  error
}

func (r *reader) fail(option, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s is not %s", option, data.Repr(r.opts.Value(option)), want)
	}
}

func (r *reader) text(option string) string {
	switch v := r.opts.Value(option).(type) {
	case nil:
	case string:
		return v
	case int64:
		return data.Str(v) // a level in Python's numbers
	default:
		r.fail(option, "text")
	}
	return ""
}

func (r *reader) number(option string) int64 {
	switch v := r.opts.Value(option).(type) {
	case nil:
		return 0
	case int64:
		if v >= 0 && v < 1<<40 {
			return v
		}
	}
	r.fail(option, "a number from 0 on")
	return 0
}

func (r *reader) levels(option string) map[string]string {
	v := r.opts.Value(option)
	m, ok := v.(*data.Map)
	if v == nil || !ok {
		if v != nil {
			r.fail(option, "a dictionary of names and levels")
		}
		return nil
	}
	levels := make(map[string]string, m.Len())
	for name, level := range m.All() {
		levels[data.Str(name)] = data.Str(level)
	}
	return levels
}
