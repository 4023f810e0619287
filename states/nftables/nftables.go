// Package nftables is Salt's state nftables: tables, chains and rules of the packet filter nftables
// (salt/states/nftables.py). It uses the module nftables.
//
// nftables.go has the states of tables and chains, rule.go those of rules.
//
// Differences from Salt: chain_absent works and has a test mode, insert needs no position, and a
// policy that is set is left alone. flush leaves chains without rules alone.
package nftables

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state nftables. It is available on hosts with the module nftables.
func Plugin() loader.Plugin { return loader.Plugin{Name: "nftables", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("nftables.version") {
		return nil, errors.New("nftables module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("append", m.appended),
		loader.F("chain_absent", m.chainAbsent),
		loader.F("chain_present", m.chainPresent),
		loader.F("delete", m.deleted),
		loader.F("flush", m.flush),
		loader.F("insert", m.inserted),
		loader.F("set_policy", m.setPolicy),
		loader.F("table_absent", m.tableAbsent),
		loader.F("table_present", m.tablePresent),
	}}, nil
}

// result calls a function that returns result and comment.
func (m *module) result(ctx context.Context, fun string, kwargs *data.Map, args ...any) (ok bool,
	comment string, err error) {
	v, err := change.Ask[*data.Map](ctx, m.env, "nftables."+fun, args, kwargs)
	return v.Value("result") == true, strings.TrimSpace(v.Text("comment")), err
}

// is returns the Look of a thing that a function finds or not.
func (m *module) is(fun string, args ...any) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		ok, _, err := m.result(ctx, fun, nil, args...)
		return ok, err
	}
}

// act calls a function for a change. A failure is the text that failed returns for its comment.
func (m *module) act(ctx context.Context, failed func(comment string) string, fun string, kwargs *data.Map,
	args ...any) error {
	ok, comment, err := m.result(ctx, fun, kwargs, args...)
	if err == nil && !ok {
		err = change.Reason(failed(comment))
	}
	return err
}

// locale is the change of all these states.
func locale(needed bool, name string) *data.Map {
	return change.When(needed, data.NewMap("locale", name))
}

type tableArgs struct {
	Name   string
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// tablePresent keeps a table. Further arguments have no effect.
//
//	filter:
//	  nftables.table_present:
//	    - family: inet
func (m *module) tablePresent(ctx context.Context, a tableArgs) (change.Result, error) {
	family := data.Str(a.Family)
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  m.is("check_table", a.Name, a.Family),
		Wants: func(there bool) *data.Map { return locale(!there, a.Name) },
		Apply: func(ctx context.Context, _ bool) error {
			failed := func(string) string {
				return "Failed to create table " + a.Name + " for family " +
					family
			}
			return m.act(ctx, failed, "new_table", nil, a.Name, a.Family)
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "nftables table " + a.Name + " already exists in family " + family,
			Would: "nftables table " + a.Name + " would be created in family " + family,
			Done:  "nftables table " + a.Name + " successfully created in family " + family,
		},
	}.Ensure(ctx)
}

// tableAbsent keeps a table deleted. Further arguments have no effect.
//
//	filter:
//	  nftables.table_absent:
//	    - family: inet
func (m *module) tableAbsent(ctx context.Context, a tableArgs) (change.Result, error) {
	family := data.Str(a.Family)
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  m.is("check_table", a.Name, a.Family),
		Wants: func(there bool) *data.Map { return locale(there, a.Name) },
		Apply: func(ctx context.Context, _ bool) error {
			failed := func(string) string {
				return "Failed to delete table " + a.Name + " from family " +
					family
			}
			return m.act(ctx, failed, "delete_table", nil, a.Name, a.Family)
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "nftables table " + a.Name + " is already absent from family " + family,
			Would: "nftables table " + a.Name + " would be deleted from family " + family,
			Done:  "nftables table " + a.Name + " successfully deleted from family " + family,
		},
	}.Ensure(ctx)
}

type chainArgs struct {
	Name      string
	Table     any `default:"'filter'"`
	TableType any `name:"table_type" default:"None"`
	Hook      any `default:"None"`
	Priority  any `default:"None"`
	Family    any `default:"'ipv4'"`
}

// chainPresent keeps a chain in a table. With table_type, hook and priority a new one is a base
// chain.
//
//	input:
//	  nftables.chain_present:
//	    - table: filter
//	    - table_type: filter
//	    - hook: input
//	    - priority: 0
func (m *module) chainPresent(ctx context.Context, a chainArgs) (change.Result, error) {
	table, family := data.Str(a.Table), data.Str(a.Family)
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  m.is("check_chain", a.Table, a.Name, a.Family),
		Wants: func(there bool) *data.Map { return locale(!there, a.Name) },
		Apply: func(ctx context.Context, _ bool) error {
			failed := func(comment string) string {
				return "Failed to create " + a.Name + " chain in " + table + " table: " + comment + " for " +
					family
			}
			return m.act(ctx, failed, "new_chain", data.NewMap("table_type", a.TableType, "hook", a.Hook,
				"priority", a.Priority, "family", a.Family), a.Table, a.Name)
		},
		Silent: true,
		Texts: change.Texts{
			Same: "nftables " + a.Name + " chain is already exist in " + table + " table for " + family,
			Would: "nftables chain " + a.Name + " would be created in table " + table + " for family " +
				family,
			Done: "nftables " + a.Name + " chain in " + table + " table create success for " + family,
		},
	}.Ensure(ctx)
}

type chainAbsentArgs struct {
	Name   string
	Table  any `default:"'filter'"`
	Family any `default:"'ipv4'"`
}

// chainAbsent keeps a chain deleted from a table, with its rules.
//
//	input:
//	  nftables.chain_absent:
//	    - table: filter
func (m *module) chainAbsent(ctx context.Context, a chainAbsentArgs) (change.Result, error) {
	table, family := data.Str(a.Table), data.Str(a.Family)
	failed := func(verb string) func(string) string {
		return func(comment string) string {
			return "Failed to " + verb + " " + a.Name + " chain in " + table + " table: " + comment +
				" for " + family
		}
	}
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  m.is("check_chain", a.Table, a.Name, a.Family),
		Wants: func(there bool) *data.Map { return locale(there, a.Name) },
		Apply: func(ctx context.Context, _ bool) error {
			if err := m.act(ctx, failed("flush"), "flush", nil, a.Table, a.Name, a.Family); err != nil {
				return err
			}
			return m.act(ctx, failed("delete"), "delete_chain", nil, a.Table, a.Name, a.Family)
		},
		Silent: true,
		Texts: change.Texts{
			Same: "nftables " + a.Name + " chain is already absent in " + table + " table for " + family,
			Would: "nftables chain " + a.Name + " would be deleted from table " + table + " for family " +
				family,
			Done: "nftables " + a.Name + " chain in " + table + " table delete success for " + family,
		},
	}.Ensure(ctx)
}

type flushArgs struct {
	Name          string
	Family        any       `default:"'ipv4'"`
	IgnoreAbsence any       `name:"ignore_absence" default:"False"`
	Kwargs        *data.Map `kwargs:"kwargs"`
}

// flush keeps a chain, or all chains of a table, without rules.
//
// table, chain
//
//	The table, filter by default, and the chain. Without a chain, all of the table.
//
// ignore_absence
//
//	True: a missing table or chain is no failure.
//
//	no-rules:
//	  nftables.flush:
//	    - table: filter
//	    - chain: input
func (m *module) flush(ctx context.Context, a flushArgs) (change.Result, error) {
	table, chain, family := "filter", a.Kwargs.Text("chain"), data.Str(a.Family)
	if a.Kwargs.Has("table") {
		table = a.Kwargs.Text("table")
	}
	absent := false
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (rules bool, err error) {
			lacking := ""
			ok, err := m.is("check_table", table, a.Family)(ctx)
			if err == nil && !ok {
				lacking = "Failed to flush table " + table + " in family " + family +
					", table does not exist."
			} else if err == nil && chain != "" {
				if ok, err = m.is("check_chain", table, chain, a.Family)(ctx); err == nil && !ok {
					lacking = "Failed to flush chain " + chain + " in table " + table + " in family " +
						family +
						", chain does not exist."
				}
			}
			absent = lacking != ""
			switch {
			case err != nil || absent && data.Truth(a.IgnoreAbsence):
				return false, err
			case absent:
				return false, change.Reason(lacking)
			}
			return m.hasRules(ctx, table, chain, a.Family)
		},
		Wants: func(rules bool) *data.Map { return locale(rules, a.Name) },
		Apply: func(ctx context.Context, _ bool) error {
			failed := func(string) string { return "Failed to flush nftables rules" }
			return m.act(ctx, failed, "flush", nil, table, chain, a.Family)
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "nftables has no rules in " + table + " table " + chain + " chain " + family + " family",
			Would: "nftables flush not performed in test mode.",
			Done:  "Flush nftables rules in " + table + " table " + chain + " chain " + family + " family",
		},
	}.Ensure(ctx)
}

// hasRules reports whether a chain, or any chain of a table, has rules.
func (m *module) hasRules(ctx context.Context, table, chain string, family any) (bool, error) {
	items, err := change.Ask[[]any](ctx, m.env, "nftables.get_rules_json", []any{family}, nil)
	for _, v := range items {
		item, _ := v.(*data.Map)
		if rule, ok := item.Value("rule").(*data.Map); ok && rule.Text("table") == table &&
			(chain == "" || rule.Text("chain") == chain) {
			return true, err
		}
	}
	return false, err
}

type policyArgs struct {
	Name   string
	Table  any       `default:"'filter'"`
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// setPolicy keeps the policy of a base chain.
//
// chain, policy
//
//	The chain, and accept or drop.
//
// save, save_filename
//
//	True: save all rules after a change, into this file.
//
//	input-drop:
//	  nftables.set_policy:
//	    - table: filter
//	    - chain: input
//	    - policy: drop
func (m *module) setPolicy(ctx context.Context, a policyArgs) (change.Result, error) {
	chain, policy, family := a.Kwargs.Text("chain"), a.Kwargs.Text("policy"), data.Str(a.Family)
	if chain == "" || policy == "" {
		return change.Refuse(a.Name, "chain and policy must be specified")
	}
	title := "nftables default policy for chain " + chain + " on table " + data.Str(a.Table) + " for " +
		family
	saved := " "
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) {
			v, err := change.Ask[any](ctx, m.env, "nftables.get_policy", []any{a.Table, chain, a.Family}, nil)
			return strings.ToLower(data.Str(v)), err
		},
		Wants: func(now string) *data.Map { return locale(now != strings.ToLower(policy), a.Name) },
		Apply: func(ctx context.Context, _ string) error {
			v, err := change.Ask[any](ctx, m.env, "nftables.set_policy",
				[]any{a.Table, chain, strings.ToLower(policy), a.Family}, nil)
			switch {
			case err != nil:
				return err
			case v != true:
				return change.Reason("Failed to set nftables default policy")
			case !data.Truth(a.Kwargs.Value("save")):
				return nil
			}
			saved = " and saved "
			return m.save(ctx, a.Kwargs.Value("save_filename"), a.Family)
		},
		Silent: true,
		Texts: change.Texts{
			Same:   title + " already set to " + policy,
			Would:  title + " needs to be set to " + policy,
			Failed: "Failed to set nftables default policy",
		},
		Say: func(o change.Outcome[string]) any {
			if o.Stage == change.StageDone {
				return "Set" + saved + "default policy for " + chain + " to " + policy + " family " + family
			}
			return nil
		},
	}.Ensure(ctx)
}

func (m *module) save(ctx context.Context, file, family any) error {
	return change.Do(ctx, m.env, "nftables.save", nil, data.NewMap("filename", file, "family", family))
}
