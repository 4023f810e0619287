package config

import (
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Lookup returns the value of an address sdb://PROFILE/KEY, which is part of an option.
type Lookup func(option, uri string) (any, error)

// ResolveSDB replaces each address sdb://PROFILE/KEY in the options, at any depth, by its value
// (salt/config/__init__.py, apply_sdb). It does nothing for options without such addresses. Call it
// before code changes the fields of m.
func (m *Minion) ResolveSDB(r *Report, get Lookup) error {
	if !holdsSDB(m.opts) {
		return nil
	}
	opts, _ := data.Clone(m.opts).(*data.Map)
	var faults []error
	for _, key := range opts.Keys() {
		option := data.Str(key)
		v, err := resolved(option, opts.Value(key), get)
		if err != nil {
			at := r.Sources[option]
			faults = append(faults, &Error{File: at.File, Line: at.Line, Option: option,
				Text: err.Error()})
			continue
		}
		opts.Set(key, v)
	}
	m.opts = opts
	return errors.Join(append(faults, m.fill(r)...)...)
}

// WarnOption adds a warning about an option to the report.
func (r *Report) WarnOption(option, text string) {
	r.warn(r.Sources[option], "%s: %s", option, text)
}

// holdsSDB reports whether there is an address in v.
func holdsSDB(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, "sdb://")
	case *data.Map:
		for _, e := range v.All() {
			if holdsSDB(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if holdsSDB(e) {
				return true
			}
		}
	}
	return false
}

// resolved returns v with the values of its addresses. It changes the dictionaries and lists in v.
func resolved(option string, v any, get Lookup) (any, error) {
	switch v := v.(type) {
	case string:
		if isSDB(v) {
			return get(option, v)
		}
	case *data.Map:
		for _, key := range v.Keys() {
			e, err := resolved(option, v.Value(key), get)
			if err != nil {
				return nil, err
			}
			v.Set(key, e)
		}
	case []any:
		for i := range v {
			e, err := resolved(option, v[i], get)
			if err != nil {
				return nil, err
			}
			v[i] = e
		}
	}
	return v, nil
}
