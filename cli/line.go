package cli

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/version"
)

// A Line is a parsed command line: the values of its options by dest, and its arguments.
type Line struct {
	Args     []string // arguments that are no options, in order
	Warnings string   // lines for standard error, printed before anything else
	Preface  string   // for standard output, likewise: the help, if Salt prints it and goes on

	in      Invocation
	program *program
	values  *data.Map       // dest → value, including defaults
	given   map[string]bool // dests that the command line or the Saltfile sets
	into    any             // the struct that embeds this Line
}

// maxStdin is the limit of input read for --args-stdin, in bytes.
const maxStdin = 16 << 20

// readLine reads the arguments and the Saltfile, and does not check the meaning of options yet. The
// error is an *Exit, except for read errors.
//
// The table is passed as a function, not by name, so that a program links no other program's table.
func readLine(table func(environ) *program, in Invocation) (*Line, error) {
	p := table(in.Env)
	l := &Line{in: in, program: p, values: &data.Map{}, given: map[string]bool{}}
	for _, o := range p.options() {
		if o.dest != "" {
			l.values.Set(o.dest, data.Clone(o.def))
		}
	}
	if err := l.read(in.Args); err != nil {
		return nil, err
	}
	if err := l.readStdin(); err != nil {
		return nil, err
	}
	if data.Truth(l.values.Value("versions_report")) {
		report := version.Report()
		if in.Installed != nil {
			report += in.Installed(l.in.abs(l.in.expand(data.Str(l.values.Value("config_dir")))))
		}
		return nil, &Exit{Stdout: report}
	}
	if !l.values.Has("saltfile") {
		return l, nil // this program has none
	}
	if err := l.readSaltfile(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Line) read(args []string) error {
	plain, taken, err := canonical(l.program, args, l.columns())
	if err != nil {
		return err
	}
	return l.readFlags(taken, plain)
}

// readStdin reads further arguments from standard input, one a line, if --args-stdin is given.
func (l *Line) readStdin() error {
	if !data.Truth(l.values.Value("args_stdin")) || l.in.Stdin == nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(l.in.Stdin, maxStdin+1))
	if err != nil {
		return fmt.Errorf("read arguments from standard input: %w", err)
	}
	if len(b) > maxStdin {
		return l.fail("more than %d bytes of arguments on standard input", maxStdin)
	}
	var args []string
	for line := range strings.Lines(string(b)) {
		args = append(args, strings.TrimRight(line, "\r\n"))
	}
	err = l.read(args)
	l.values.Set("args_stdin", false) // already read
	return err
}

func (l *Line) set(dest string, v any) {
	l.values.Set(dest, v)
	l.given[dest] = true
}

// fail returns the Exit for a wrong command line, with the warnings before its text.
func (l *Line) fail(format string, args ...any) error {
	exit := l.program.fail(format, args...)
	exit.Stderr = l.Warnings + exit.Stderr
	return exit
}

// failWithHelp is fail, but also prints the help on standard output.
func (l *Line) failWithHelp(message string) error {
	exit := l.program.fail("%s", message)
	exit.Stdout, exit.Stderr = l.Help(), l.Warnings+exit.Stderr
	return exit
}

// columns returns the width of the help: COLUMNS, as optparse does.
func (l *Line) columns() int {
	n, err := strconv.Atoi(strings.TrimSpace(l.in.Env("COLUMNS")))
	if err != nil {
		return defaultColumns
	}
	return n
}

// Given reports whether the command line or the Saltfile sets the option with this dest.
func (l *Line) Given(dest string) bool { return l.given[dest] }

// Value returns the value of an option by its dest.
func (l *Line) Value(dest string) any { return l.values.Value(dest) }

// text returns the value of a text option, and "" for any other.
func (l *Line) text(dest string) string { return l.values.Text(dest) }

// Help returns the help of the program.
func (l *Line) Help() string { return l.program.help(l.columns()) }

// Merge stores the options that were given in the configuration, also those that it lacks, and
// reads the others from it. Afterwards the struct of options and config agree. It follows
// MergeConfigMixIn of salt/utils/parsers.py.
func (l *Line) Merge(config *data.Map) {
	l.logLevels(config)
	for _, o := range l.program.options() {
		if o.dest == "" {
			continue
		}
		v := l.values.Value(o.dest)
		switch {
		case !config.Has(o.dest) || l.given[o.dest]:
			if v != nil {
				config.Set(o.dest, v)
			}
		default:
			l.values.Set(o.dest, config.Value(o.dest))
		}
	}
	l.fill()
}

// logLevels sets the log levels and log files that neither the command line nor the configuration
// gives.
func (l *Line) logLevels(config *data.Map) {
	level := config.Value("log_level")
	if !data.Truth(level) {
		level = "warning"
	}
	l.fallBack(config, "log_level", level)
	l.fallBack(config, "log_level_logfile", level)
}

// fallBack sets dest to the value in config, or to v, unless it was given. An empty value in config
// is removed.
func (l *Line) fallBack(config *data.Map, dest string, v any) {
	if data.Truth(l.values.Value(dest)) {
		return
	}
	if set := config.Value(dest); data.Truth(set) {
		v = set
	} else {
		config.Delete(dest)
	}
	l.values.Set(dest, v)
}

// fill sets the fields of the struct of options: a field with the tag opt gets the value of that
// dest.
func (l *Line) fill() { l.fillStruct(reflect.ValueOf(l.into).Elem()) }

func (l *Line) fillStruct(s reflect.Value) {
	for i := range s.NumField() {
		field, f := s.Type().Field(i), s.Field(i)
		if field.Anonymous && f.Kind() == reflect.Struct {
			l.fillStruct(f)
			continue
		}
		if v, ok := l.values.Get(field.Tag.Get("opt")); ok {
			setField(f, v)
		}
	}
}

// setField converts leniently, because Saltfile and configuration may hold any type.
func setField(f reflect.Value, v any) {
	switch p := f.Addr().Interface().(type) {
	case *any:
		*p = v
	case *string:
		*p = ""
		if v != nil {
			*p = data.Str(v)
		}
	case *bool:
		*p = data.Truth(v)
	case *int64:
		*p = int64(floatOf(v))
	case *float64:
		*p = floatOf(v)
	case *[]string:
		*p = data.TextsOf(v)
	}
}

func floatOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		f, _ := parseFloat(v) // 0 if v is no number
		return f
	}
	return 0
}

// configDir makes the option absolute and warns if the directory does not exist.
func (l *Line) configDir() {
	dir := l.in.expand(data.Str(l.values.Value("config_dir")))
	if !paths.IsDir(l.in.path(dir)) {
		l.Warnings += fmt.Sprintf("WARNING: CONFIG '%s' directory does not exist.\n", dir)
	}
	l.values.Set("config_dir", l.in.abs(dir))
}

// noParse splits the list of --no-parse.
func (l *Line) noParse() {
	list := []any{}
	if s := l.text("no_parse"); s != "" {
		for name := range strings.SplitSeq(s, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	l.values.Set("no_parse", list)
}

// truthText converts the text of a truth value. If foldCase is true TRUE counts as well as true and
// True.
func (l *Line) truthText(dest string, foldCase bool) {
	s, ok := l.values.Value(dest).(string)
	if foldCase {
		s = strings.ToLower(s)
	}
	switch {
	case ok && (s == "True" || s == "true"):
		l.values.Set(dest, true)
	case ok && (s == "False" || s == "false"):
		l.values.Set(dest, false)
	}
}
