package logging

import (
	"fmt"

	"github.com/brineproject/brine/data"
)

// Settings are the log options of the configuration. The zero value writes warnings to the console
// in Salt's format.
type Settings struct {
	Level     string // log_level, one of Levels; "" means warning, quiet disables the console
	FileLevel string // log_level_logfile; "" means Level
	File      string // log_file: a path, or the file, udp or tcp URL of a syslog; "" means none

	ConsoleFormat string // log_fmt_console: a Python % format, or json; "" means Salt's default
	FileFormat    string // log_fmt_logfile, likewise
	// log_datefmt_console or log_datefmt, for strftime; "" means Salt's default
	ConsoleDate string
	FileDate    string // log_datefmt_logfile, likewise
	JIDFormat   string // log_fmt_jid: format of %(jid)s; "" means Salt's default

	// log_granular_levels: name → level, for that name and names below it
	Granular map[string]string

	RotateBytes int64 // log_rotate_max_bytes: size at which the file is rotated; 0 means never
	// log_rotate_backup_count: number of old files to keep; 0 means never rotate
	RotateBackups int
}

// Salt's defaults (salt/_logging/impl.py).
const (
	defaultConsoleFormat = "[%(levelname)-8s] %(message)s"
	defaultFileFormat    = "%(asctime)s,%(msecs)03d [%(name)-17s:%(lineno)-4d][%(levelname)-8s][%(process)d] %(message)s"
	defaultConsoleDate   = "%H:%M:%S"
	defaultFileDate      = "%Y-%m-%d %H:%M:%S"
	defaultJIDFormat     = "[JID: %(jid)s]"
)

// SettingsOf reads the settings from the options of a program. It fails for an option of the wrong
// type; New checks levels and formats.
func SettingsOf(opts *data.Map) (Settings, error) {
	r := reader{opts: opts}
	s := Settings{
		Level: r.text("log_level"), FileLevel: r.text("log_level_logfile"),
		File: r.text("log_file"), ConsoleFormat: r.text("log_fmt_console"),
		FileFormat: r.text("log_fmt_logfile"), JIDFormat: r.text("log_fmt_jid"),
		ConsoleDate: r.text("log_datefmt_console"), FileDate: r.text("log_datefmt_logfile"),
		Granular: r.levels("log_granular_levels"), RotateBytes: r.number("log_rotate_max_bytes"),
		RotateBackups: int(r.number("log_rotate_backup_count")),
	}
	if date := r.text("log_datefmt"); s.ConsoleDate == "" {
		s.ConsoleDate = date
	}
	return s, r.err
}

// Check returns the error that New would return for s, without opening anything. It cannot report
// errors of opening the log file.
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

// reader reads options and records the first error.
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
		return data.Str(v) // a level as Python's number
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
