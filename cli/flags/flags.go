// Package flags parses arguments of the form --name=value.
//
// Package cli checks a command line by optparse's rules and rewrites it in that form. Two readers
// then parse it alike: package flags/urfave, which uses github.com/urfave/cli, and Read for
// programs that must stay small. The library imports text/template, which looks methods up by name,
// so that the linker has to keep every exported method of a program. A minion would be 8 MB larger
// on amd64 and use 2 MB more memory.
package flags

import (
	"fmt"
	"strconv"
	"strings"
)

// A Kind is the type of a flag's value.
type Kind int

// The kinds of flags.
const (
	Text  Kind = iota // string
	Truth             // bool
	Int               // int64, as strconv.ParseInt with base 0 reads it
	Float             // float64
	Texts             // []any of strings, one for each use of the flag
)

// A Flag is a flag that occurs among the arguments at least once.
type Flag struct {
	Name  string // without dashes
	Kind  Kind
	Usage string
}

// A Reader parses the arguments of a program: flags as --name=value, then "--", then the other
// arguments. It returns the values of the flags in the order of list, and the other arguments. If a
// flag is repeated the last one counts, except for Texts.
type Reader func(program string, list []Flag, args []string) (values []any, rest []string, err error)

// Read is a Reader that needs only the standard library.
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

// value returns a flag's value for text; before is its value so far.
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
