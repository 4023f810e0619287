package packages

import (
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// True returns the truth value of an argument: numbers above zero, also as texts, the text true,
// and other values that Python considers true (is_true of salt/utils/data.py).
func True(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > 0
	case int:
		return v > 0
	case float64:
		return v > 0
	case string:
		if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return n > 0
		}
		return strings.EqualFold(v, "true")
	}
	return data.Truth(v)
}

// NoneInstalled reports whether the arguments of pkg.list_pkgs ask for removed packages or those to
// be purged. Most package managers have none.
func NoneInstalled(kwargs *data.Map) bool {
	return True(kwargs.Value("removed")) || True(kwargs.Value("purge_desired"))
}

// Own returns keyword arguments without those that the engine adds, whose names begin with two
// underscores.
func Own(kwargs *data.Map) *data.Map {
	out := &data.Map{}
	for k, v := range kwargs.All() {
		if name, ok := k.(string); !ok || !strings.HasPrefix(name, "__") {
			out.Set(k, v)
		}
	}
	return out
}

// Take removes a keyword argument and returns it, or otherwise if it is missing.
func Take(kwargs *data.Map, name string, otherwise any) any {
	v, ok := kwargs.Get(name)
	if !ok {
		return otherwise
	}
	kwargs.Delete(name)
	return v
}

// Repack converts a list of names and of dictionaries with one entry each to one dictionary; names
// have the value nil. A text is parsed as YAML first. wrong describes an error in the list, and is
// "" if there is none (salt/utils/data.py, repack_dictlist).
func Repack(v any) (all *data.Map, wrong string) {
	if text, ok := v.(string); ok {
		read, err := yaml.Load([]byte(text), yaml.Options{})
		if err != nil {
			return nil, err.Error()
		}
		v = read
	}
	list, ok := v.([]any)
	if !ok {
		return nil, "Invalid input for repack_dictlist, data passed is not a list (" +
			data.Str(v) + ")"
	}
	all = &data.Map{}
	for _, e := range list {
		switch e := e.(type) {
		case string, int64, int, float64, bool:
			all.Set(e, nil)
		case *data.Map:
			if e.Len() != 1 {
				return nil, "Invalid input for repack_dictlist: key/value pairs must contain only one element (data passed: " + data.Str(e) + ")."
			}
			k, v := e.At(0)
			all.Set(k, v)
		default:
			return nil, "Invalid input for repack_dictlist: element " + data.Str(e) +
				" is not a string/dict/numeric value"
		}
	}
	return all, ""
}
