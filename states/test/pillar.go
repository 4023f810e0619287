package test

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type pillarArgs struct {
	Name       any
	Present    any `default:"None"`
	Boolean    any `default:"None"`
	Integer    any `default:"None"`
	String     any `default:"None"`
	Listing    any `default:"None"`
	Dictionary any `default:"None"`
	Verbose    any `default:"False"`
}

// A check is a list of pillar keys that must have the same type.
type check struct {
	keys any
	kind string // name of the type as Python prints it; "" for any
	is   func(v any) bool
}

func (a pillarArgs) checks() []check {
	return []check{
		{a.Present, "", func(any) bool { return true }},
		{a.Boolean, "<class 'bool'>", func(v any) bool { _, ok := v.(bool); return ok }},
		{a.Integer, "<class 'int'>", isInt},
		{a.String, "(<class 'str'>,)", func(v any) bool { _, ok := v.(string); return ok }},
		{a.Listing, "<class 'list'>", func(v any) bool { _, ok := v.([]any); return ok }},
		{a.Dictionary, "<class 'dict'>", func(v any) bool { _, ok := v.(*data.Map); return ok }},
	}
}

func isInt(v any) bool {
	_, isBool := v.(bool)
	return isBool || loader.TypeName(v) == "int"
}

// checkPillar succeeds if the pillar has certain keys with certain types. present lists keys that
// must exist; boolean, integer, string, listing and dictionary list keys of these types. Each is a
// key, with colons between the levels, or a list of keys. With verbose the comment also lists the
// keys that are correct.
//
//	is-pillar-foo-present-and-bar-is-int:
//	  test.check_pillar:
//	    - present:
//	        - foo
//	    - integer:
//	        - bar
func (m *module) checkPillar(_ context.Context, a pillarArgs) (any, error) {
	fine, failed, asked := &data.Map{}, &data.Map{}, false
	for _, c := range a.checks() {
		if !data.Truth(c.keys) {
			continue
		}
		asked = true
		keys, err := keyList(c.keys)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			m.check(c, key, fine, failed)
		}
	}
	if !asked {
		return nil, loader.Invocation("Missing required argument text.")
	}
	comment := complaints(failed)
	if data.Truth(a.Verbose) && fine.Len() > 0 {
		comment += fineText(fine)
	}
	return change.New(a.Name, failed.Len() == 0, nil, comment), nil
}

func keyList(v any) ([]any, error) {
	switch v := v.(type) {
	case string:
		return []any{v}, nil
	case []any:
		return v, nil
	}
	return nil, loader.TypeError("")
}

// check records a key with its actual or expected type, which is nil if it is missing.
func (m *module) check(c check, key any, fine, failed *data.Map) {
	v, ok := data.Lookup(m.env.PillarNow(), data.Str(key), ":")
	kind := any(c.kind)
	if c.kind == "" {
		kind = nil
	}
	switch {
	case !ok || v == nil:
		failed.Set(key, nil)
	case !c.is(v):
		failed.Set(key, kind)
	default:
		fine.Set(key, kind)
	}
}

func complaints(failed *data.Map) string {
	text := ""
	for key, kind := range failed.All() {
		text += `Pillar key "` + data.Str(key) + `" `
		if kind == nil {
			text += "is missing.\n"
		} else {
			text += "is not " + data.Str(kind) + ".\n"
		}
	}
	return text
}

func fineText(fine *data.Map) string {
	text := "Those keys passed the check:\n"
	for key, kind := range fine.All() {
		text += "- " + data.Str(key) + " (" + data.Str(kind) + ")\n"
	}
	return text
}
