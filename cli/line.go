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

// A Line is a command line that has been read: the values of its options by dest, and its arguments.
type Line struct {
	Args     []string // what is no option, in order
	Warnings string   // lines for standard error, to be printed before anything else
	Preface  string   // for standard output, likewise: the help, where Salt prints it and goes on

	in      Invocation
	program *program
	values  *data.Map       // dest → value, with the defaults
	given   map[string]bool // dests that the command line or the Saltfile sets
	into    any             // the struct with this Line in it
}

// maxStdin bounds what --args-stdin reads, in bytes.
const maxStdin = 16 << 20

// readLine reads the arguments and the Saltfile; what the options mean is not looked at yet. The error is an *Exit but
// for faults of reading.
func readLine(name string, in Invocation) (*Line, error) {
	p := programs()[name](in.Env)
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
		return nil, &Exit{Stdout: version.Report()}
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

// readStdin reads further arguments from standard input, one a line, when --args-stdin is given.
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
	l.values.Set("args_stdin", false) // they have been read
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

// failWithHelp prints the help on standard output as well.
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

// Given reports whether the command line or the Saltfile sets the option, by its dest.
func (l *Line) Given(dest string) bool { return l.given[dest] }

// Value returns the value of an option by its dest.
func (l *Line) Value(dest string) any { return l.values.Value(dest) }

// text returns the value of an option that is text, and "" for any other.
func (l *Line) text(dest string) string { return l.values.Text(dest) }

// Help returns the help of the program.
func (l *Line) Help() string { return l.program.help(l.columns()) }

// Merge puts the options that were given into the configuration, those that it lacks too, and takes the others from
// it: afterwards the struct of options and config agree. It follows MergeConfigMixIn of salt/utils/parsers.py.
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

// logLevels fills in the levels and files of logging that neither the command line nor the configuration gives.
func (l *Line) logLevels(config *data.Map) {
	level := config.Value("log_level")
	if !data.Truth(level) {
		level = "warning"
	}
	l.fallBack(config, "log_level", level)
	l.fallBack(config, "log_level_logfile", level)
}

// fallBack sets dest to the value in config or else to v, when it was not given. An empty one in config goes.
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

// fill sets the fields of the struct of options: those with a tag opt get the value of that dest.
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

// setField converts leniently, because Saltfile and configuration hold whatever somebody wrote.
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
		f, _ := parseFloat(v) // 0 for what is no number
		return f
	}
	return 0
}

// configDir makes the option absolute and warns when the directory is not there.
func (l *Line) configDir() {
	dir := l.in.expand(data.Str(l.values.Value("config_dir")))
	if !paths.IsDir(l.in.path(dir)) {
		l.Warnings += fmt.Sprintf("WARNING: CONFIG '%s' directory does not exist.\n", dir)
	}
	l.values.Set("config_dir", l.in.abs(dir))
}

// noParse splits the names that --no-parse lists.
func (l *Line) noParse() {
	list := []any{}
	if s := l.text("no_parse"); s != "" {
		for name := range strings.SplitSeq(s, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	l.values.Set("no_parse", list)
}

// truthText turns the text of a truth value into one; foldCase tells whether TRUE counts as well as true and True.
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
