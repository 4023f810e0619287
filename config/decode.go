package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// A field is a field of Master or Minion with its option, which its tag yaml names, and the
// option's properties for the role.
type field struct {
	name  string
	use   *use
	value reflect.Value
}

// fields returns the fields of the Master or Minion that ptr points to, including those of its
// groups.
func fields(ptr any) []field {
	return appendFields(nil, reflect.ValueOf(ptr).Elem(), roleOf(ptr))
}

// roleOf returns the role of the struct that ptr points to.
func roleOf(ptr any) role {
	if _, ok := ptr.(*Master); ok {
		return masterRole
	}
	return minionRole
}

func appendFields(list []field, v reflect.Value, r role) []field {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			list = appendFields(list, v.Field(i), r)
		}
		if name, ok := f.Tag.Lookup("yaml"); ok {
			o, _ := known().find(name)
			list = append(list, field{name, o.of(r), v.Field(i)})
		}
	}
	return list
}

// decode fills the struct that ptr points to from opts and returns an error for each invalid value.
func decode(ptr any, opts *data.Map, r *Report) []error {
	var faults []error
	for _, f := range fields(ptr) {
		v, ok := opts.Get(f.name)
		if !ok {
			continue
		}
		text, advice := f.set(v)
		if text == "" {
			continue
		}
		at := r.Sources[f.name]
		faults = append(faults, &Error{File: at.File, Line: at.Line, Option: f.name, Text: text,
			Suggestion: advice})
	}
	return faults
}

// set sets the field to v; text is the error message for an invalid v.
func (f field) set(v any) (text, advice string) {
	if isSDB(v) && f.value.Kind() != reflect.String {
		return "", "" // whoever needs it asks the secret store
	}
	switch p := f.value.Addr().Interface().(type) {
	case *string:
		if _, ok := v.([]any); ok { // which only the other role may have
			return "expected a text, got " + describe(v), ""
		}
		*p = textOf(v)
		if f.use.lower {
			*p = strings.ToLower(*p)
		}
		if *p == "" && f.use.needed {
			return "must not be empty", "leave the option out for its default"
		}
		return f.allowed(*p)
	case *bool:
		*p = v == true
	case *int:
		n, text, advice := f.number(v)
		*p = int(n)
		return text, advice
	case *time.Duration:
		return f.duration(p, v)
	case *[]string:
		*p = f.list(v)
	case **data.Map:
		*p, _ = v.(*data.Map)
		if *p == nil {
			*p = &data.Map{}
		}
	case *any:
		*p = v
	}
	return "", ""
}

func textOf(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}

func (f field) allowed(s string) (text, advice string) {
	list := f.use.oneOf
	if list == nil || slices.Contains(list, s) || s == "" && f.use.mayBeNone {
		return "", ""
	}
	text = fmt.Sprintf("%s is not supported", clip(strconv.Quote(s)))
	if len(list) == 1 {
		return text, "the only value is " + list[0]
	}
	for _, o := range list {
		if distance(s, o, 3) < 3 {
			return text, fmt.Sprintf("is %s meant? Values are %s", o, strings.Join(list, ", "))
		}
	}
	return text, "values are " + strings.Join(list, ", ")
}

// number returns v as a number in the option's own unit.
func (f field) number(v any) (n float64, text, advice string) {
	switch {
	case v == nil || v == "":
		n, _ = strconv.ParseFloat(f.use.none, 64)
		return n, "", ""
	case v == false:
		return 0, "", ""
	}
	n, ok := toFloat(v)
	if !ok {
		return 0, "expected a number, got " + describe(v), ""
	}
	least, err := strconv.ParseFloat(f.use.min, 64)
	if err != nil {
		least = math.Inf(-1)
	}
	most, err := strconv.ParseFloat(f.use.max, 64)
	if err != nil {
		most = math.MaxInt32 * 1000.0
	}
	if n >= least && n <= most {
		return n, "", ""
	}
	return 0, fmt.Sprintf("%v is out of range", data.Str(v)), rangeText(least, most)
}

func rangeText(least, most float64) string {
	switch {
	case most > math.MaxInt32:
		return fmt.Sprintf("the minimum is %.0f", least)
	case math.IsInf(least, -1):
		return fmt.Sprintf("the maximum is %.0f", most)
	}
	return fmt.Sprintf("it must be from %.0f to %.0f", least, most)
}

func (f field) unitTime() time.Duration {
	switch f.use.unit {
	case "ms":
		return time.Millisecond
	case "m":
		return time.Minute
	case "h":
		return time.Hour
	}
	return time.Second
}

func (f field) duration(p *time.Duration, v any) (text, advice string) {
	n, text, advice := f.number(v)
	if text == "" && n*float64(f.unitTime()) >= math.MaxInt64 {
		return fmt.Sprintf("%v is out of range", data.Str(v)), "it must be less than 292 years"
	}
	*p = time.Duration(n * float64(f.unitTime()))
	return text, advice
}

func (f field) list(v any) []string {
	s, ok := v.(string)
	if !ok {
		return words(v)
	}
	parts := []string{s}
	if cut := f.use.split; cut != "" {
		parts = strings.Split(s, cut)
	}
	var list []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

// encode returns the value of the field in Salt's form.
func (f field) encode() any {
	switch v := f.value.Interface().(type) {
	case int:
		return int64(v)
	case time.Duration:
		n := float64(v) / float64(f.unitTime())
		if n == math.Trunc(n) {
			return int64(n)
		}
		return n
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return list
	case *data.Map:
		if v == nil {
			return &data.Map{}
		}
		return data.Clone(v)
	default:
		return v
	}
}

// mapOf returns a copy of opts with the options updated whose fields in now differ from those in
// loaded.
func mapOf(opts *data.Map, now, loaded any) *data.Map {
	out, _ := data.Clone(opts).(*data.Map)
	if out == nil {
		out = &data.Map{}
	}
	before := fields(loaded)
	for i, f := range fields(now) {
		if !sameValue(f.value.Interface(), before[i].value.Interface()) {
			out.Set(f.name, f.encode())
		}
	}
	return out
}

func sameValue(a, b any) bool {
	m, ok := a.(*data.Map)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	return data.Equal(m, b)
}
