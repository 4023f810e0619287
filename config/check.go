package config

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// check compares the options that were set with the known ones, and removes unusable ones from
// opts.
func (s *source) check(opts *data.Map) {
	for _, k := range opts.Keys() {
		name := k.(string)
		o, ok := known().find(name)
		if !ok {
			s.unknown(name, opts.Value(name))
			continue
		}
		s.value(opts, o)
	}
}

// unknown warns of an unknown name. It accepts settings of a module (mysql.host), profiles of the
// module sdb and names that begin with _, which programs add.
func (s *source) unknown(name string, v any) {
	s.report.Unknown = append(s.report.Unknown, name)
	at := s.report.Sources[name]
	if now := renamed(name); now != "" {
		s.report.warn(at, "%s: is not used any more, as in Salt; the option is called %s now", name,
			now)
		return
	}
	if profile, ok := v.(*data.Map); ok && profile.Text("driver") != "" {
		return
	}
	if near := known().nearest(name); near != "" {
		s.report.warn(at, "%s: unknown option; is %s meant?", name, near)
		return
	}
	if !strings.ContainsAny(name, ".") && !strings.HasPrefix(name, "_") {
		s.report.warn(at, "%s: unknown option; it is kept for modules and templates", name)
	}
}

// renamed returns the current name of an option that only older versions of Salt read.
func renamed(name string) string {
	switch name {
	case "client_acl":
		return "publisher_acl"
	case "client_acl_blacklist":
		return "publisher_acl_blacklist"
	}
	return ""
}

func (s *source) value(opts *data.Map, o option) {
	v := opts.Value(o.name)
	at := s.report.Sources[o.name]
	switch {
	case len(o.kinds) == 0 || isSDB(v):
		return
	case v == nil:
		s.noValue(opts, o)
		return
	case fits(v, o.kinds):
		s.warnType(v, o)
		return
	}
	opts.Delete(o.name)
	wrong := &Error{File: at.File, Line: at.Line, Option: o.name, Text: "expected " +
		expected(o.kinds)}
	if !IsSecret(o.name) {
		wrong.Text += ", got " + describe(v)
		wrong.Suggestion = advice(v, o)
	}
	s.fault(wrong)
}

// noValue treats a name without a value as not set, unless the option may be empty.
func (s *source) noValue(opts *data.Map, o option) {
	if slices.Contains(o.kinds, "none") || slices.Contains(o.kinds, "any") {
		return
	}
	opts.Delete(o.name)
	at := s.report.Sources[o.name]
	delete(s.report.Sources, o.name)
	s.report.warn(at, "%s: has no value; the default is used", o.name)
}

// warnType warns of a value that should be text but that YAML reads as true, false or a number.
// Salt accepts it silently.
func (s *source) warnType(v any, o option) {
	switch v.(type) {
	case bool, int64, float64:
	default:
		return
	}
	if slices.ContainsFunc(o.kinds,
		func(kind string) bool { return kind != "str" && fitsKind(v, kind) }) {
		return
	}
	if IsSecret(o.name) {
		s.report.warn(s.report.Sources[o.name], "%s: expected %s; put the value in quotes", o.name,
			expected(o.kinds))
		return
	}
	s.report.warn(s.report.Sources[o.name],
		"%s: expected %s, got %s, which is used as the text %q; put the value in quotes",
		o.name, expected(o.kinds), describe(v), data.Str(v))
}

// isSDB reports whether v refers to a secret store. Its value is fetched when it is needed, so its
// type is not known before.
func isSDB(v any) bool {
	s, ok := v.(string)
	return ok && strings.HasPrefix(s, "sdb://")
}

// fits reports whether v can be used for one of kinds: whatever Salt accepts silently
// (salt.config._validate_opts), and whole numbers written as 5.0.
func fits(v any, kinds []string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return fitsKind(v, kind) })
}

func fitsKind(v any, kind string) bool {
	switch kind {
	case "any":
		return true
	case "str":
		return isScalar(v)
	case "bool":
		_, ok := v.(bool)
		return ok
	case "int":
		_, ok := toInt(v)
		return ok
	case "float":
		_, ok := toFloat(v)
		return ok
	case "list":
		_, ok := v.([]any)
		return ok
	case "dict":
		list, isList := v.([]any)
		_, ok := v.(*data.Map)
		return ok || isList && len(list) == 0
	}
	return false
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64, *big.Int:
		return true
	}
	return false
}

// toInt returns the whole number that v is or, as text, contains.
func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v)) && v > -1e15 && v < 1e15
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, v-v == 0 // neither infinite nor NaN
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil && f-f == 0
	}
	return 0, false
}

func kindWord(kind string) string {
	switch kind {
	case "str":
		return "text"
	case "int":
		return "a whole number"
	case "float":
		return "a number"
	case "bool":
		return "true or false"
	case "list":
		return "a list"
	case "dict":
		return "a mapping"
	}
	return "any value"
}

func expected(kinds []string) string {
	var list []string
	for _, k := range kinds {
		if k != "none" {
			list = append(list, kindWord(k))
		}
	}
	return strings.Join(list, ", or ")
}

// describe names the type of v and shows the value if it is short.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return strconv.FormatBool(v)
	case int64, *big.Int:
		return "the number " + clip(data.Str(v))
	case float64:
		return "the number " + data.Str(v)
	case string:
		return "the text " + clip(strconv.Quote(v))
	case []byte:
		return "bytes"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case *data.Map:
		return fmt.Sprintf("a mapping of %d", v.Len())
	}
	return fmt.Sprintf("%T", v)
}

func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "..."
}

// advice returns a suggestion for what v was meant to be.
func advice(v any, o option) string {
	want := func(kind string) bool { return slices.Contains(o.kinds, kind) }
	switch v := v.(type) {
	case string:
		return adviceText(v, o.name, want)
	case int64:
		if want("bool") && (v == 0 || v == 1) {
			return fmt.Sprintf("write %s: %t", o.name, v == 1)
		}
	case float64:
		if want("int") {
			return fmt.Sprintf("write %s: %.0f", o.name, v)
		}
	case bool:
		if want("int") {
			return "write a number, such as " + o.name + ": 1"
		}
	case []any:
		if len(v) == 1 && want("str") && isScalar(v[0]) {
			return fmt.Sprintf("write %s: %s", o.name, clip(data.Str(v[0])))
		}
		if want("dict") {
			return "write it as NAME: VALUE lines below " + o.name + ", without the dashes"
		}
	case *data.Map:
		if want("list") {
			return "write it as lines that begin with a dash below " + o.name
		}
	}
	if want("list") && isScalar(v) {
		return fmt.Sprintf("write %s: [%s]", o.name, clip(data.Str(v)))
	}
	return ""
}

// adviceUnit suggests what to write for a number with a unit. A time is converted to the option's
// own unit. If a unit stands for a factor and the option's own unit is not known, nothing is
// guessed.
func adviceUnit(name, digits, unit string) string {
	n, _ := toFloat(digits)
	if f, ok := timeOption(name); ok {
		own := map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds",
			time.Minute: "minutes", time.Hour: "hours"}[f.unitTime()]
		if one, ok := timeUnit(unit); ok {
			return fmt.Sprintf("write the number of %s: %s: %s", own, name,
				strconv.FormatFloat(n*float64(one)/float64(f.unitTime()), 'f', -1, 64))
		}
		return fmt.Sprintf("write the number of %s alone, such as %s: 60", own, name)
	}
	if unit == "s" || unit == "" || strings.HasPrefix(unit, "sec") {
		return fmt.Sprintf("write the number alone: %s: %s", name, digits)
	}
	return "write a number alone, in the unit of the option"
}

// timeOption returns the field of an option that is a time.
func timeOption(name string) (field, bool) {
	for _, f := range append(fields(&Master{}), fields(&Minion{})...) {
		if _, ok := f.value.Interface().(time.Duration); ok && f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// timeUnit returns the duration of a unit, by its word or letter.
func timeUnit(unit string) (time.Duration, bool) {
	switch strings.ToLower(unit) {
	case "ms", "msec", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return 24 * time.Hour, true
	case "w", "week", "weeks":
		return 7 * 24 * time.Hour, true
	}
	return 0, false
}

func adviceText(v, name string, want func(string) bool) string {
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "true", "yes", "on", "1":
		if want("bool") {
			return fmt.Sprintf("write %s: true, without quotes", name)
		}
	case "false", "no", "off", "0":
		if want("bool") {
			return fmt.Sprintf("write %s: false, without quotes", name)
		}
	}
	digits := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	if _, ok := toFloat(digits); ok && (want("int") || want("float")) {
		return adviceUnit(name, digits, strings.TrimSpace(v[len(digits):]))
	}
	if want("list") {
		return fmt.Sprintf("write %s: [%s]", name, clip(v))
	}
	return ""
}
