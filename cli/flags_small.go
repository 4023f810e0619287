//go:build small

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// readFlags reads canonical arguments with these options among them: the values by dest, and the arguments that are no
// options. A small build does so by itself: package urfave/cli brings text/template, and with it every method of the program.
func readFlags(p *program, options []*option, args []string) (given *data.Map, rest []string, err error) {
	byName := map[string]*option{}
	for _, o := range options {
		byName["--"+o.long()] = o
	}
	given = &data.Map{}
	for i, arg := range args {
		if arg == "--" {
			return ordered(given, options), append([]string{}, args[i+1:]...), nil
		}
		name, text, _ := strings.Cut(arg, "=")
		o := byName[name]
		if o == nil {
			return nil, nil, fmt.Errorf("read arguments of %s: %s is not known", p.name, name)
		}
		v, err := o.flagValue(given.Value(o.dest), text)
		if err != nil {
			return nil, nil, fmt.Errorf("read arguments of %s: %s: %w", p.name, name, err)
		}
		given.Set(o.dest, v)
	}
	return ordered(given, options), nil, nil
}

// ordered returns the values in the order of the options.
func ordered(given *data.Map, options []*option) *data.Map {
	m := &data.Map{}
	for _, o := range options {
		m.Set(o.dest, given.Value(o.dest))
	}
	return m
}

// flagValue returns what an option means that comes with this text, after one that gave before.
func (o *option) flagValue(before any, text string) (any, error) {
	switch o.kind {
	case boolean:
		return true, nil
	case negated:
		return false, nil
	case integer:
		return strconv.ParseInt(text, 0, 64)
	case real:
		return strconv.ParseFloat(text, 64)
	case repeated:
		list, _ := before.([]any)
		return append(list, text), nil
	}
	return text, nil
}
