package console

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// kwargMark marks the map of a job's arguments that have names.
const kwargMark = "__kwarg__"

// splitArguments divides the arguments of a job into those by position and those by name.
func splitArguments(list []any) (args []any, named *data.Map) {
	named = data.NewMap()
	for _, v := range list {
		m, ok := v.(*data.Map)
		if !ok || !data.Truth(m.Value(kwargMark)) {
			args = append(args, v)
			continue
		}
		for k, v := range m.All() {
			if k != kwargMark {
				named.Set(k, v)
			}
		}
	}
	return args, named
}

// argumentLines returns the arguments of a job as they are typed: one a line.
func argumentLines(list []any) []string {
	args, named := splitArguments(list)
	var lines []string
	for _, v := range args {
		text := argumentText(v)
		if _, _, ok := loader.ParseKwarg(text); ok {
			text = quoted(text)
		}
		lines = append(lines, text)
	}
	for k, v := range named.All() {
		lines = append(lines, data.Str(k)+"="+argumentText(v))
	}
	return lines
}

// argumentText returns the text that the command line reads as a value, as far as there is one.
func argumentText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return data.Str(v)
	case string:
		if v != "" && loader.YAMLArg(v) == any(v) && !strings.ContainsAny(v, "\r\n") {
			return v
		}
		return quoted(v)
	case *data.Map, []any, data.Tuple:
		return jsonText(v, pyjson.Options{Comma: ", ", Colon: ": "})
	}
	return data.Str(v)
}

// quoted returns a text between quotation marks. It has no "#", which would keep the command line from
// reading the quotation marks.
func quoted(s string) string {
	return strings.ReplaceAll(jsonText(s, pyjson.Options{Comma: ", ", Colon: ": "}), "#", `\u0023`)
}

// jsonText returns a value as JSON. What JSON does not have is the text of Python.
func jsonText(v any, o pyjson.Options) string {
	o.Other = func(v any) (any, error) { return data.Repr(v), nil }
	b, err := pyjson.Append(nil, v, o)
	if err != nil {
		return data.Repr(v)
	}
	return string(b)
}

// readArguments reads lines of arguments as the command line does.
func readArguments(text string) (args []any, named *data.Map) {
	var lines []any
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return loader.ParseInput(lines)
}

// isTest reports whether arguments say test=True.
func isTest(list []any) bool {
	_, named := splitArguments(list)
	if data.Truth(named.Value("test")) && named.Value("test") != "False" {
		return true
	}
	return slices.ContainsFunc(list, isTestText)
}

// isTestText reports whether an argument is the text test=True, as some clients send it.
func isTestText(v any) bool {
	text, _ := v.(string)
	name, value, ok := loader.ParseKwarg(text)
	return ok && name == "test" && data.Truth(loader.YAMLArg(value))
}

// withoutTest returns the arguments of a job without test=True.
func withoutTest(list []any) []any {
	out := []any{}
	for _, v := range list {
		m, ok := v.(*data.Map)
		switch {
		case isTestText(v):
			continue
		case ok && data.Truth(m.Value(kwargMark)):
			m = m.Clone()
			m.Delete("test")
			if m.Len() > 1 {
				out = append(out, m)
			}
		default:
			out = append(out, v)
		}
	}
	return out
}
