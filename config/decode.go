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

// A field is a field of Master or Minion and its option. Its tags:
//
//	yaml:"name,unit"  the option, and the unit of its number where the field is a time.Duration (ms, s, m)
//	none:"-1"         the number that stands for Salt's None; else 0
//	min, max          of a number, in the option's own unit
//	oneof:"a b"       what a text may be
//	case:"lower"      makes a text lower case first
//	split:","         cuts a text into a list
//	needed:"yes"      a text that must not be empty
//	live:"yes"        may change while the daemon runs; see Renew
type field struct {
	name, unit string
	tag        reflect.StructTag
	value      reflect.Value
}

// fields returns the fields of the struct that ptr points to.
func fields(ptr any) []field {
	v := reflect.ValueOf(ptr).Elem()
	var list []field
	for i := range v.NumField() {
		tag, ok := v.Type().Field(i).Tag.Lookup("yaml")
		if !ok {
			continue
		}
		name, unit, _ := strings.Cut(tag, ",")
		list = append(list, field{name, unit, v.Type().Field(i).Tag, v.Field(i)})
	}
	return list
}

// decode fills the struct that ptr points to from opts and returns what is out of range.
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
		faults = append(faults, &Error{File: at.File, Line: at.Line, Option: f.name, Text: text, Suggestion: advice})
	}
	return faults
}

// set gives the field v; text says what is wrong with v, if something is.
func (f field) set(v any) (text, advice string) {
	if isSDB(v) && f.value.Kind() != reflect.String {
		return "", "" // whoever needs it asks the secret store
	}
	switch p := f.value.Addr().Interface().(type) {
	case *string:
		*p = textOf(v)
		if f.tag.Get("case") == "lower" {
			*p = strings.ToLower(*p)
		}
		if *p == "" && f.tag.Get("needed") != "" {
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
	one, ok := f.tag.Lookup("oneof")
	if !ok || slices.Contains(strings.Fields(one), s) || s == "" && f.tag.Get("none") == "''" {
		return "", ""
	}
	list := strings.Fields(one)
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
		n, _ = strconv.ParseFloat(f.tag.Get("none"), 64)
		return n, "", ""
	case v == false:
		return 0, "", ""
	}
	n, ok := toFloat(v)
	if !ok {
		return 0, "expected a number, got " + describe(v), ""
	}
	least, err := strconv.ParseFloat(f.tag.Get("min"), 64)
	if err != nil {
		least = math.Inf(-1)
	}
	most, err := strconv.ParseFloat(f.tag.Get("max"), 64)
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
		return fmt.Sprintf("the least is %.0f", least)
	case math.IsInf(least, -1):
		return fmt.Sprintf("the most is %.0f", most)
	}
	return fmt.Sprintf("it must be from %.0f to %.0f", least, most)
}

func (f field) unitTime() time.Duration {
	switch f.unit {
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
	if cut := f.tag.Get("split"); cut != "" {
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

// mapOf returns a copy of opts in which those options are new whose fields of now are not what they are in loaded.
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
