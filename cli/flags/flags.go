// Package flags reads arguments in the one form --name=value into values.
//
// Package cli checks a command line by the rules of Salt's programs, which are optparse's, and writes it down anew in that
// form. What is left to do is small, and two readers do it alike: the one of package flags/urfave, with
// github.com/urfave/cli, and Read for programs of which each megabyte counts. That library brings text/template, which
// looks methods up by name, so that the linker has to keep every exported method of a program: a minion would be larger by
// 8 MB on amd64, and would hold 2 MB more of memory.
package flags

import (
	"fmt"
	"strconv"
	"strings"
)

// A Kind says of what type the value of a flag is.
type Kind int

// The kinds of flags.
const (
	Text  Kind = iota // string
	Truth             // bool
	Int               // int64, as strconv.ParseInt with base 0 reads it
	Float             // float64
	Texts             // []any of strings, one for each time that the flag is given
)

// A Flag is one that is among the arguments, at least once.
type Flag struct {
	Name  string // without dashes
	Kind  Kind
	Usage string
}

// A Reader reads the arguments of a program, --name=value each, and "--" in front of those that are no flags. It returns
// the values of the flags in the order of list, and the other arguments. A flag that comes again overrules itself.
type Reader func(program string, list []Flag, args []string) (values []any, rest []string, err error)

// Read is a Reader that needs nothing but the standard library.
func Read(program string, list []Flag, args []string) (values []any, rest []string, err error) {
	place := map[string]int{}
	for i, f := range list {
		place["--"+f.Name] = i
	}
	values = make([]any, len(list))
	for n, arg := range args {
		if arg == "--" {
			return values, append([]string{}, args[n+1:]...), nil
		}
		name, text, _ := strings.Cut(arg, "=")
		i, ok := place[name]
		if !ok {
			return nil, nil, fmt.Errorf("read arguments of %s: %s is not known", program, name)
		}
		if values[i], err = list[i].Kind.value(values[i], text); err != nil {
			return nil, nil, fmt.Errorf("read arguments of %s: %s: %w", program, name, err)
		}
	}
	return values, nil, nil
}

// value returns what a flag means that comes with this text, after one that gave before.
func (k Kind) value(before any, text string) (any, error) {
	switch k {
	case Truth:
		return strconv.ParseBool(text)
	case Int:
		return strconv.ParseInt(text, 0, 64)
	case Float:
		return strconv.ParseFloat(text, 64)
	case Texts:
		list, _ := before.([]any)
		return append(list, text), nil
	}
	return text, nil
}
