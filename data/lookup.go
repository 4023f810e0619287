package data

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Lookup returns the value at path, a chain of keys and list positions joined by delim, and whether
// it exists.
//
// It follows traverse_dict_and_list of salt/utils/data.py. In a list, the key is first searched in
// the maps among its elements. Then a number is tried as a position, negative ones from the end. If
// a map does not have a key as text, the key is tried again as the number, truth value or null that
// YAML reads in it. An empty delim leaves the path whole.
func Lookup(v any, path, delim string) (any, bool) {
	parts := []string{path}
	if delim != "" {
		parts = strings.Split(path, delim)
	}
	for _, part := range parts {
		var ok bool
		switch at := v.(type) {
		case []any:
			v, ok = lookupList(at, part)
		case *Map:
			v, ok = lookupMap(at, part)
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

func lookupList(list []any, part string) (any, bool) {
	n, numeric := pythonInt(part)
	var key any = part
	if numeric {
		key = n
	}
	for _, e := range list {
		if m, ok := e.(*Map); ok {
			if v, ok := m.Get(key); ok {
				return v, true
			}
		}
	}
	if !numeric {
		return nil, false
	}
	if n < 0 {
		n += int64(len(list))
	}
	if n < 0 || n >= int64(len(list)) {
		return nil, false
	}
	return list[n], true
}

func lookupMap(m *Map, part string) (any, bool) {
	if v, ok := m.Get(part); ok {
		return v, true
	}
	key, ok := yamlScalar(part)
	if !ok {
		return nil, false
	}
	return m.Get(key)
}

// pythonInt parses a number as Python's int() does: a sign, digits with single underscores between
// them, surrounding space. Numbers beyond 64 bits count as the largest, which is not a valid
// position and hardly a key.
func pythonInt(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if !pythonIntForm.MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

var (
	pythonIntForm = regexp.MustCompile(`^[-+]?[0-9]+(_[0-9]+)*$`)
	plainWords    = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./ -]*$`)
	yamlInt       = regexp.MustCompile(`^[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$`)
	yamlFloat     = regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|\.(inf|Inf|INF))$`)
)

// yamlScalar returns the key that YAML reads in part, as yamlify_arg of salt/utils/args.py does. ok
// is false if that is part itself, or a list, a map or a date, none of which can be a key that
// Lookup finds.
func yamlScalar(part string) (v any, ok bool) {
	if strings.ContainsAny(part, "\t\r\n") || strings.Contains(part, "_") &&
		strings.Trim(strings.TrimSpace(part), "0123456789_") == "" {
		return nil, false
	}
	whole := part
	part = strings.Trim(part, " ")
	switch part {
	case "~", "null", "Null", "NULL", "None":
		return nil, true
	case "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	}
	switch {
	case yamlInt.MatchString(part):
		return yamlInteger(strings.ReplaceAll(part, "_", ""))
	case yamlFloat.MatchString(part):
		return yamlReal(strings.ReplaceAll(part, "_", ""))
	case part != whole && plainWords.MatchString(part):
		return part, true // YAML trims the space around a word
	}
	return nil, false
}

// yamlInteger parses decimal, 0x and 0b numbers. Salt's loader reads 0644 as 644
// (salt/utils/yamlloader.py), but leaves -0644 to PyYAML, which reads it as octal.
func yamlInteger(s string) (any, bool) {
	base, digits := 10, strings.TrimLeft(s, "+-")
	switch {
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0b"):
		base, digits = 2, digits[2:]
	case digits != s && strings.HasPrefix(digits, "0"):
		base = 8
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, false
	}
	if s[0] == '-' {
		n.Neg(n)
	}
	return n, true
}

func yamlReal(s string) (any, bool) {
	s = strings.Replace(s, ".inf", "inf", 1)
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
