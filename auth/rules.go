package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// A rule is one entry of a list of rights.
type rule struct {
	entry any     // as written
	form  string  // name after @; the rule is about runner and wheel functions
	every bool    // a form or fun without conditions
	fun   pattern // functions allowed on all minions, if tgt is empty
	tgt   string  // a compound target
	calls []call  // functions allowed there, or of that form
}

// A call is an allowed function with conditions on its arguments.
type call struct {
	fun   pattern
	limit bool        // args must match
	args  []condition // alternatives
}

// A condition restricts the arguments of a function. Arguments that it does not mention are
// unrestricted.
type condition struct {
	args   []wanted
	names  []string
	kwargs []wanted
}

// A wanted argument must match a pattern, or may be anything.
type wanted struct {
	any bool
	pattern
}

// rules are the rights of one user.
type rules []rule

// parseRules parses a list of rights. Invalid entries allow nothing and are reported in the error;
// the others are valid. A single string is a list of one, whereas Salt treats it as a list of its
// letters. A mapping without values is a list of its keys, as in Salt.
func parseRules(list any) (rules, error) {
	var all rules
	var errs []error
	for i, entry := range entries(list) {
		r, err := parseRule(entry)
		if err != nil {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: entry}, err))
			if len(r.calls) == 0 {
				continue
			}
		}
		r.entry = entry
		all = append(all, r)
	}
	return all, errors.Join(errs...)
}

// entries returns the rules of a user: the elements of a list, or the keys of a mapping without
// values. A mapping with a value is kept whole, since its keys must not be mistaken for rules, as
// in Salt.
func entries(list any) []any {
	m, ok := list.(*data.Map)
	if !ok || !keysAlone(m) {
		return data.ListOf(list)
	}
	var keys []any
	for key := range m.All() {
		keys = append(keys, key)
	}
	return keys
}

// keysAlone reports whether no key of a mapping has a value.
func keysAlone(m *data.Map) bool {
	for _, value := range m.All() {
		if value != nil {
			return false
		}
	}
	return true
}

func parseRule(entry any) (rule, error) {
	switch e := entry.(type) {
	case string:
		if form, ok := strings.CutPrefix(e, "@"); ok {
			return rule{form: form, every: true}, nil
		}
		p, err := newPattern(e)
		return rule{every: true, fun: p}, noPattern(e, err)
	case *data.Map:
		name, value, err := single(e)
		if err != nil {
			return rule{}, err
		}
		calls, err := parseCalls(value)
		err = config.Below(name, err)
		if form, ok := strings.CutPrefix(name, "@"); ok {
			return rule{form: form, calls: calls}, err
		}
		return rule{tgt: name, calls: calls}, err
	}
	return rule{}, config.Expected("a function, or a target with its functions", entry,
		"write - test.ping, or - 'web*': [test.ping]")
}

// noPattern returns the error for an invalid expression, which allows nothing, as in Salt.
func noPattern(expr string, err error) error {
	if err == nil {
		return nil
	}
	return &config.Finding{Text: fmt.Sprintf("%s is no regular expression that can be used, and allows nothing: %v", short(expr), err),
		Suggestion: "write an expression such as test.* or .*", Doubt: true}
}

// single returns the only entry of m.
func single(m *data.Map) (name string, value any, err error) {
	if m.Len() == 1 {
		for k, v := range m.All() {
			if name, ok := k.(string); ok && name != "" {
				return name, v, nil
			}
		}
	}
	return "", nil, config.Expected("one name and what is allowed there", m,
		"begin each name with a dash, and indent what is below it: - 'web*': [test.ping]")
}

func parseCalls(list any) ([]call, error) {
	var calls []call
	var errs []error
	for i, item := range data.ListOf(list) {
		c, err := parseCall(item)
		if err != nil {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: item}, err))
			continue
		}
		calls = append(calls, c)
	}
	return calls, errors.Join(errs...)
}

func parseCall(item any) (call, error) {
	switch c := item.(type) {
	case string:
		p, err := newPattern(c)
		return call{fun: p}, noPattern(c, err)
	case *data.Map:
		name, value, err := single(c)
		if err != nil {
			return call{}, err
		}
		p, err := newPattern(name)
		if err != nil {
			return call{}, noPattern(name, err)
		}
		conditions, err := parseConditions(value)
		return call{fun: p, limit: true, args: conditions}, config.Below(name, err)
	}
	return call{}, config.Expected("a function, or a function with conditions", item,
		"write - test.ping, or - test.echo: [{args: ['a.*']}]")
}

func parseConditions(list any) ([]condition, error) {
	var all []condition
	for i, item := range data.ListOf(list) {
		at := config.Entry{Index: i, Value: item}
		m, ok := item.(*data.Map)
		if !ok {
			return nil, config.Below(at, config.Expected("a mapping of args and kwargs", item,
				"write - args: ['a.*']"))
		}
		c, err := parseCondition(m)
		if err != nil {
			return nil, config.Below(at, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func parseCondition(m *data.Map) (condition, error) {
	var c condition
	for _, v := range data.ListOf(m.Value("args")) {
		w, err := parseWanted(v)
		if err != nil {
			return c, err
		}
		c.args = append(c.args, w)
	}
	kwargs, ok := m.Value("kwargs").(*data.Map)
	if !ok && m.Value("kwargs") != nil {
		return c, config.Below("kwargs", config.Expected("a mapping", m.Value("kwargs"),
			"write NAME: 'EXPRESSION' lines below kwargs"))
	}
	for k, v := range kwargs.All() {
		w, err := parseWanted(v)
		if err != nil {
			return c, err
		}
		c.names, c.kwargs = append(c.names, data.Str(k)), append(c.kwargs, w)
	}
	return c, nil
}

// parseWanted parses the condition of one argument: a regular expression, a number, or None for any
// value.
func parseWanted(v any) (wanted, error) {
	switch v := v.(type) {
	case nil:
		return wanted{any: true}, nil
	case string:
		p, err := newPattern(v)
		return wanted{pattern: p}, noPattern(v, err)
	case bool, int64, float64:
		p, err := newPattern(data.Str(v))
		return wanted{pattern: p}, err
	}
	return wanted{}, config.Expected("a regular expression, a number or nothing", v, "")
}

// short formats a value for an error in at most one line.
func short(v any) string {
	s := data.Repr(v)
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// allowsEverywhere reports whether a rule for all minions allows fun.
func (rs rules) allowsEverywhere(fun string) bool {
	return slices.ContainsFunc(rs,
		func(r rule) bool { return r.form == "" && r.every && r.fun.match(fun) })
}

// arguments are the arguments of a call.
type arguments struct {
	args   []any
	kwargs *data.Map
	odd    bool // an argument may be positional or keyword: no condition on arguments is met
}

// allow reports whether one of calls allows fun with its arguments.
func allow(calls []call, fun string, a arguments) bool {
	return slices.ContainsFunc(calls, func(c call) bool {
		return c.fun.match(fun) && (!c.limit ||
			!a.odd && slices.ContainsFunc(c.args, func(w condition) bool { return w.met(a) }))
	})
}

func (c condition) met(a arguments) bool {
	for i, w := range c.args {
		if i >= len(a.args) || !w.any && !w.match(data.Str(a.args[i])) {
			return false
		}
	}
	for i, name := range c.names {
		v, ok := a.kwargs.Get(name)
		if !ok || !c.kwargs[i].any && !c.kwargs[i].match(data.Str(v)) {
			return false
		}
	}
	return true
}
