package iptables

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func missing(err error) bool {
	e, ok := errors.AsType[*loader.Error](err)
	return ok && e.Class == "FileNotFoundError"
}

// joined applies several aggregated rules and returns one result. The rules are saved once.
func (m *module) joined(
	ctx context.Context, a optionArgs, rules []any, d operation,
) (change.Result, error) {
	var names []any
	var parts []change.Result
	var save any
	for _, v := range rules {
		one := own(v, a)
		if s := one.Kwargs.Value("save"); data.Truth(s) {
			save = s
			one.Kwargs.Set("save", false)
		}
		part, err := m.bring(ctx, one, d)
		if err != nil {
			return part, err
		}
		if name, ok := part.Changes.Get("locale"); ok {
			names = append(names, name)
		}
		parts = append(parts, part)
	}
	ret := change.Join(a.Name, parts...)
	ret.Changes = change.When(names != nil, data.NewMap("locale", names))
	return ret, m.keepSaved(ctx, save, a.Family)
}

// own returns the arguments of one of the aggregated rules.
func own(v any, a optionArgs) optionArgs {
	rule, _ := v.(*data.Map)
	one := optionArgs{Name: rule.Text("name"), Table: "filter", Family: "ipv4", Kwargs: &data.Map{}}
	for key, v := range rule.All() {
		switch key {
		case "name", "rules", "__agg__":
		case "table":
			one.Table = v
		case "family":
			one.Family = v
		default:
			one.Kwargs.Set(key, v)
		}
	}
	if one.Name == "" {
		one.Name = a.Name
	}
	return one
}

// keepSaved saves the rules if requested and not yet done, but not in test mode.
func (m *module) keepSaved(ctx context.Context, save, family any) error {
	if save == nil {
		return nil
	}
	look := func(ctx context.Context) (bool, error) { return m.savedAlready(ctx, save, family) }
	_, err := keep(ctx, "", look, func(ctx context.Context) error {
		_, err := m.save(ctx, save, family)
		return err
	}, change.Texts{})
	return err
}

type aggregateArgs struct {
	Low, Chunks, Running any
}

// modAggregate joins the rules of all chunks with the same function to the first of them. The state
// runner calls it.
//
//	a chunk that the rules of others are joined to:
//	  iptables.append:
//	    - aggregate: True
//	    - chain: INPUT
//	    - jump: ACCEPT
func (m *module) modAggregate(_ context.Context, a aggregateArgs) (any, error) {
	low, _ := a.Low.(*data.Map)
	if fun := low.Value("fun"); fun != "append" && fun != "insert" {
		return a.Low, nil
	}
	ran, _ := a.Running.(*data.Map)
	chunks, _ := a.Chunks.([]any)
	rules, others := []any{data.Clone(low)}, 0
	for _, v := range chunks {
		chunk, _ := v.(*data.Map)
		if chunk == low || ran.Has(tag(chunk)) || !joins(chunk, low) {
			continue
		}
		rules = append(rules, data.Clone(chunk))
		chunk.Set("__agg__", true)
		others++
	}
	if others > 0 {
		listed, _ := low.Value("rules").([]any)
		low.Set("rules", append(listed, rules...))
	}
	return low, nil
}

func joins(chunk, low *data.Map) bool {
	return chunk.Value("state") == "iptables" && !chunk.Has("__agg__") &&
		chunk.Value("fun") == low.Value("fun")
}

// tag returns the key of a chunk's result.
func tag(chunk *data.Map) string {
	return strings.Join([]string{chunk.Text("state"), chunk.Text("__id__"), chunk.Text("name"),
		chunk.Text("fun")}, "_|-")
}
