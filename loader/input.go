package loader

import (
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/yaml"
)

// kwargMark is the key that tells a map of keyword arguments.
const kwargMark = "__kwarg__"

// ParseInput turns arguments of a command line into values: texts name=value become keyword arguments, everything is read as
// YAML. Values that are no text are taken as they are, maps with __kwarg__ as keyword arguments. The values of the keywords in
// noParse stay text. It is parse_input of salt/utils/args.py with condition=False.
func ParseInput(in []any, noParse ...string) (args []any, kwargs *data.Map) {
	kwargs = &data.Map{}
	args = []any{}
	for _, a := range in {
		switch a := a.(type) {
		case string:
			parseText(a, &args, kwargs, noParse)
		case *data.Map:
			m := withoutMark(a).(*data.Map)
			if mark, _ := a.Get(kwargMark); mark == true {
				kwargs.Update(m)
			} else {
				args = append(args, m)
			}
		default:
			args = append(args, a)
		}
	}
	return args, kwargs
}

func parseText(a string, args *[]any, kwargs *data.Map, noParse []string) {
	name, value, ok := ParseKwarg(a)
	switch {
	case !ok:
		*args = append(*args, YAMLArg(a))
	case slices.Contains(noParse, name):
		kwargs.Set(name, value)
	default:
		kwargs.Set(name, YAMLArg(value))
	}
}

// WireArgs turns arguments of a command line into the list of a publication: ParseInput and ConditionInput.
func WireArgs(in []string, noParse ...string) []any {
	list := make([]any, len(in))
	for i, s := range in {
		list[i] = s
	}
	return ConditionInput(ParseInput(list, noParse...))
}

// ConditionInput joins arguments to the list of a publication: numbers that are job ids become text, keyword arguments the
// last element, marked. It is condition_input of salt/utils/args.py.
func ConditionInput(args []any, kwargs *data.Map) []any {
	out := make([]any, 0, len(args)+1)
	for _, a := range args {
		out = append(out, jidText(a))
	}
	if kwargs.Len() == 0 {
		return out
	}
	marked := data.NewMap(kwargMark, true)
	marked.Update(kwargs)
	return append(out, marked)
}

func jidText(a any) any {
	switch a.(type) {
	case int64, int, *big.Int:
		if s := data.Str(a); job.Looks(s) {
			return s
		}
	}
	return a
}

// ParseKwarg splits name=value as KWARG_REGEX of salt/utils/args.py does. A value that begins with = or holds a line feed,
// but at its end, is none.
func ParseKwarg(s string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(s, "=")
	value = strings.TrimSuffix(value, "\n")
	if !ok || !isKwargName(name) || strings.HasPrefix(value, "=") || strings.Contains(value, "\n") {
		return "", "", false
	}
	return name, value, true
}

// isKwargName reports whether name is letters and numbers, as Python's \w knows them, with dots and dashes among them; a
// decimal digit does not come first.
func isKwargName(name string) bool {
	for i, r := range name {
		first := r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.No)
		if !first && (i == 0 || r != '.' && r != '-' && !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

// YAMLArg reads one argument of a command line as a value: yamlify_arg of salt/utils/args.py. Maps must stand in braces and
// lists in brackets; what is no YAML stays text. What is no text is returned as it is.
func YAMLArg(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if staysText(s) {
		return s
	}
	if s == "None" {
		return nil
	}
	v, err := yaml.Load([]byte(s), yaml.Options{})
	if err != nil {
		return s
	}
	if strings.Contains(s, "#") {
		if _, text := v.(string); text || v == nil {
			return s
		}
		return v
	}
	return argValue(s, v)
}

// staysText reports whether s is not read as YAML at all.
func staysText(s string) bool {
	bare := pyStrip(s)
	if bare == "" || bare == "---" || bare == "..." {
		return true
	}
	if strings.Contains(s, "_") && strings.Trim(bare, "0123456789_") == "" {
		return true
	}
	return strings.ContainsAny(s, "\t\r\n")
}

// argValue refuses values that the text s should not become.
func argValue(s string, v any) any {
	switch v := v.(type) {
	case *data.Map:
		if !strings.HasPrefix(s, "{") {
			return s
		}
	case []any:
		if !strings.HasPrefix(s, "[") {
			return s
		}
	case nil:
		if s == "!" {
			return s
		}
	case string:
		if v == "" && (s == "|" || s == "!") {
			return s
		}
	case bool, int64, *big.Int, float64:
	default:
		return s
	}
	return v
}
