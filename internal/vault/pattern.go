package vault

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// ErrMissing is wrapped by the error of Expand if a pattern names a missing value.
var ErrMissing = errors.New("the value does not exist")

// maxTexts is the limit of texts for which one pattern stands.
const maxTexts = 1000

// CheckPattern returns what is wrong with a pattern.
func CheckPattern(pattern string) error {
	_, err := parse(pattern)
	return err
}

// names reports whether a pattern has a field of the pillar or of the grains.
func names(pattern, what string) bool {
	all, err := parse(pattern)
	return err == nil && slices.ContainsFunc(all, func(s segment) bool {
		return s.field && strings.HasPrefix(s.text, "{"+what)
	})
}

// field matches a field of a pattern: {minion}, {pillar[roles]}, {grains[os]}.
var field = regexp.MustCompile(`\A\{(minion|pillar|grains)((?:\[[^\[\]{}]+\])*)\}\z`)

// A segment of a pattern is text, or a field with its braces.
type segment struct {
	text  string
	field bool
}

// parse parses a pattern as Python's str.format does: a doubled brace stands for one.
func parse(pattern string) (all []segment, err error) {
	for rest := pattern; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		switch {
		case at < 0:
			return append(all, segment{text: rest}), nil
		case strings.HasPrefix(rest[at+1:], rest[at:at+1]):
			all = append(all, segment{text: rest[:at+1]})
			rest = rest[at+2:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if rest[at] == '}' || end < 0 {
			return nil, fmt.Errorf("a bracket of %s has no other", pattern)
		}
		f := rest[at : end+1]
		if !field.MatchString(f) {
			return nil, fmt.Errorf("%s of %s is not {minion}, {pillar[KEY]} or {grains[KEY]}", f,
				pattern)
		}
		all = append(all, segment{text: rest[:at]}, segment{f, true})
		rest = rest[end+1:]
	}
	return all, nil
}

// Expand replaces the fields of a pattern by values, whose keys are minion, pillar and grains. For a
// list there is a result for each of its elements (expand_pattern_lists of salt/utils/vault.py). The
// error wraps ErrMissing if a value is missing.
func Expand(pattern string, values *data.Map) ([]string, error) {
	found, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	chosen := []map[string]string{{}} // the values of the fields, for each result
	for i, part := range found {
		if !part.field || slices.Contains(found[:i], part) {
			continue
		}
		f := part.text
		v, ok := lookup(f, values)
		if !ok {
			return nil, fmt.Errorf("%s: %w", f, ErrMissing)
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		if len(list)*len(chosen) > maxTexts {
			return nil, fmt.Errorf("%s stands for more than %d texts", pattern, maxTexts)
		}
		chosen = with(chosen, f, list)
	}
	var out []string
	for _, c := range chosen {
		for _, v := range c {
			if !inPath(v) {
				return nil, fmt.Errorf("%s: a value that it stands for has ? or #, or a part . or .., which is not for a path", pattern)
			}
		}
		out = append(out, fill(found, c))
	}
	return out, nil
}

// inPath reports whether a value stays below the prefix of a pattern, and adds no query.
func inPath(v string) bool {
	if strings.ContainsAny(v, "?#") {
		return false
	}
	parts := strings.Split(v, "/")
	return !slices.Contains(parts, ".") && !slices.Contains(parts, "..")
}

// with combines each of the results so far with each of a field's values.
func with(chosen []map[string]string, f string, list []any) []map[string]string {
	var out []map[string]string
	for _, c := range chosen {
		for _, element := range list {
			more := maps.Clone(c)
			more[f] = data.Str(element)
			out = append(out, more)
		}
	}
	return out
}

// fill replaces the fields by values. Fields within values are not replaced.
func fill(pattern []segment, values map[string]string) string {
	var out strings.Builder
	for _, part := range pattern {
		if part.field {
			out.WriteString(values[part.text])
		} else {
			out.WriteString(part.text)
		}
	}
	return out.String()
}

// lookup returns the value of a field. As in Python a key of digits is the index of a list, or a
// number.
func lookup(f string, values *data.Map) (any, bool) {
	parts := field.FindStringSubmatch(f)
	v, ok := values.Get(parts[1])
	for key := range strings.SplitSeq(strings.Trim(parts[2], "[]"), "][") {
		if parts[2] == "" {
			break
		}
		var k any = key
		n, err := strconv.ParseInt(key, 10, 32)
		if err == nil {
			k = n
		}
		switch in := v.(type) {
		case *data.Map:
			v, ok = in.Get(k)
		case []any:
			ok = err == nil && n >= 0 && int(n) < len(in)
			if ok {
				v = in[n]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return v, ok
}
