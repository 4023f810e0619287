package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/version"
)

// A reader processes arguments as Python's optparse does (OptionParser._process_args).
type reader struct {
	program *program
	columns int                // of the terminal, for the help
	names   map[string]*option // by every name, including dashes
	left    []string           // unread arguments
	flags   []string           // options read so far, as --name=value
	taken   []*option          // the same options, each once
	args    []string           // the other arguments
}

// canonical checks args and returns them in normal form: each option as --name=value by its first
// long name, then "--", then the other arguments. Numbers are decimal. taken holds the options
// used. The error is an *Exit.
func canonical(
	p *program, args []string, columns int,
) (plain []string, taken []*option, err error) {
	r := &reader{program: p, columns: columns, names: map[string]*option{}, left: args}
	for _, o := range p.options() {
		for name := range strings.FieldsSeq(o.names) {
			r.names[name] = o
		}
	}
	for len(r.left) > 0 {
		if r.left[0] == "--" {
			r.args = append(r.args, r.left[1:]...)
			break
		}
		if err := r.next(); err != nil {
			return nil, nil, err
		}
	}
	return slices.Concat(r.flags, []string{"--"}, r.args), r.taken, nil
}

func (r *reader) next() error {
	arg := r.left[0]
	r.left = r.left[1:]
	switch {
	case strings.HasPrefix(arg, "--"):
		return r.long(arg)
	case strings.HasPrefix(arg, "-") && len(arg) > 1:
		return r.short(arg[1:])
	}
	r.args = append(r.args, arg)
	return nil
}

func (r *reader) long(arg string) error {
	given, value, explicit := strings.Cut(arg, "=")
	name, err := r.match(given)
	if err != nil {
		return err
	}
	o := r.names[name]
	switch {
	case !o.kind.takesValue() && explicit && o.kind != optional:
		return r.program.fail("%s option does not take a value", name)
	case o.kind.takesValue() && !explicit:
		if value, err = r.value(name); err != nil {
			return err
		}
	}
	return r.take(o, name, value)
}

// match returns the long name that equals given, or the only one that begins with it.
func (r *reader) match(given string) (string, error) {
	if _, ok := r.names[given]; ok {
		return given, nil
	}
	var found []string
	for name := range r.names {
		if strings.HasPrefix(name, "--") && strings.HasPrefix(name, given) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", r.program.fail("no such option: %s%s", given, r.suggest(given))
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", r.program.fail("ambiguous option: %s (%s?)", given, strings.Join(found, ", "))
}

// suggest returns a hint with the known option closest to an unknown one.
func (r *reader) suggest(given string) string {
	var long []string
	for name := range r.names {
		if word, ok := strings.CutPrefix(name, "--"); ok {
			long = append(long, word)
		}
	}
	slices.Sort(long)
	if name := config.Nearest(strings.TrimPrefix(given, "--"), long); name != "" {
		return fmt.Sprintf(" (--%s?)", name)
	}
	return ""
}

// short reads the letters after one dash. The first that takes a value takes the rest, if there is
// any.
func (r *reader) short(letters string) error {
	for i, c := range letters {
		name := "-" + string(c)
		o, ok := r.names[name]
		if !ok {
			return r.program.fail("no such option: %s", name)
		}
		if !o.kind.takesValue() {
			if err := r.take(o, name, ""); err != nil {
				return err
			}
			continue
		}
		value := letters[i+len(string(c)):]
		if value == "" {
			var err error
			if value, err = r.value(name); err != nil {
				return err
			}
		}
		return r.take(o, name, value)
	}
	return nil
}

// value takes the next argument, whatever it looks like, as the value of an option.
func (r *reader) value(name string) (string, error) {
	if len(r.left) == 0 {
		return "", r.program.fail("%s option requires 1 argument", name)
	}
	v := r.left[0]
	r.left = r.left[1:]
	return v, nil
}

func (r *reader) take(o *option, name, value string) error {
	switch o.kind {
	case showVersion:
		return &Exit{Stdout: version.Line(r.program.name) + "\n"}
	case showHelp:
		return &Exit{Stdout: r.program.help(r.columns)}
	case boolean, negated:
		value = "true"
	case optional:
		value = cmp.Or(value, "yes")
	default:
		var err error
		if value, err = r.check(o, name, value); err != nil {
			return err
		}
	}
	r.flags = append(r.flags, "--"+o.long()+"="+value)
	if !slices.Contains(r.taken, o) {
		r.taken = append(r.taken, o)
	}
	return nil
}

// check returns the value in the form that a flag reader expects.
func (r *reader) check(o *option, name, value string) (string, error) {
	switch o.kind {
	case integer:
		n, ok := parseInt(value)
		if !ok {
			return "", r.program.fail("option %s: invalid integer value: %s", name,
				data.Repr(value))
		}
		return strconv.FormatInt(n, 10), nil
	case real:
		f, ok := parseFloat(value)
		if !ok {
			return "", r.program.fail("option %s: invalid floating-point value: %s", name,
				data.Repr(value))
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case choice:
		if !slices.Contains(o.choices, value) {
			return "", r.program.fail("option %s: invalid choice: %s (choose from %s)", name,
				data.Repr(value), quoted(o.choices))
		}
	case logFile:
		if !strings.ContainsAny(value, "/") {
			value = "./" + value
		}
	}
	return value, nil
}

func quoted(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, data.Repr(w))
	}
	return strings.Join(list, ", ")
}

// parseInt reads a number as optparse's _parse_num and Python's int() do. Unlike there, it must fit
// in 64 bits.
func parseInt(s string) (int64, bool) {
	base, digits := 10, s
	switch lower := strings.ToLower(s); {
	case strings.HasPrefix(lower, "0x"):
		base, digits = 16, s[2:]
	case strings.HasPrefix(lower, "0b"):
		if base, digits = 2, s[2:]; digits == "" {
			digits = "0"
		}
	case strings.HasPrefix(s, "0"):
		base = 8
		digits = trimPrefixFold(s, "0o")
	}
	if base != 10 && base != 2 && strings.ContainsAny(digits, "+-") {
		return 0, false
	}
	digits, ok := plainDigits(digits)
	n, err := strconv.ParseInt(digits, base, 64)
	return n, ok && err == nil
}

func trimPrefixFold(s, prefix string) string {
	if len(s) > len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):]
	}
	return s
}

// plainDigits removes what Python allows around and within digits: white space, and single
// underscores between them.
func plainDigits(s string) (string, bool) {
	s = strings.TrimSpace(s)
	ok := !strings.Contains(s, "__") && !strings.HasPrefix(strings.TrimLeft(s, "+-"), "_") &&
		!strings.HasSuffix(s, "_")
	return strings.ReplaceAll(s, "_", ""), ok
}

// parseFloat reads a number as Python's float() does.
func parseFloat(s string) (float64, bool) {
	s, ok := plainDigits(s)
	if strings.ContainsAny(s, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, ok
}
