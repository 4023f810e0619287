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

// kwargMark is the key that marks a map of keyword arguments.
const kwargMark = "__kwarg__"

// ParseInput parses command line arguments: strings of the form name=value become keyword
// arguments, and everything is read as YAML. Values that are not strings are kept, except that maps
// with __kwarg__ become keyword arguments. The values of keywords in noParse remain strings. It is
// parse_input of salt/utils/args.py with condition=False.
func ParseInput(in []any, noParse ...string) (args []any, kwargs *data.Map) {
	kwargs = &data.Map{}
	args = []any{}
	for _, a := range in {
		switch a := a.(type) {
		case string:
			parseText(a, &args, kwargs, noParse)
		case *data.Map:
			m := unmark(a).(*data.Map)
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

// WireArgs converts command line arguments to the argument list of a publication: ParseInput
// followed by ConditionInput.
func WireArgs(in []string, noParse ...string) []any {
	list := make([]any, len(in))
	for i, s := range in {
		list[i] = s
	}
	return ConditionInput(ParseInput(list, noParse...))
}

// ConditionInput returns the argument list of a publication. Numbers that are job ids become
// strings, and keyword arguments become the last element, a marked map. It is condition_input of
// salt/utils/args.py.
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

// ParseKwarg splits name=value like KWARG_REGEX of salt/utils/args.py. ok is false if value begins
// with = or contains a line feed before its end.
func ParseKwarg(s string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(s, "=")
	value = strings.TrimSuffix(value, "\n")
	if !ok || !isKwargName(name) || strings.HasPrefix(value, "=") || strings.Contains(value, "\n") {
		return "", "", false
	}
	return name, value, true
}

// isKwargName reports whether name consists of letters and numbers in the sense of Python's \w, and
// of dots and dashes. It must not begin with a dot, a dash or a decimal digit.
func isKwargName(name string) bool {
	for i, r := range name {
		first := r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.No)
		if !first && (i == 0 || r != '.' && r != '-' && !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

// YAMLArg parses one command line argument, like yamlify_arg of salt/utils/args.py. Maps need
// braces and lists need brackets. Invalid YAML remains a string. Values that are not strings are
// returned unchanged.
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

// staysText reports whether s is never parsed as YAML.
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

// argValue returns the parsed value v, or the string s if it must not become such a value.
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
