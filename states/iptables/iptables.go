// Package iptables is Salt's state iptables: it manages chains, rules and policies of the kernel's
// packet filter (salt/states/iptables.py). The module iptables reads and sets them.
//
// Differences from Salt: test mode saves nothing. Rules are saved if the file is missing. delete
// removes all copies of a rule. flush reports no change if there are no rules. With aggregated
// rules, every rule is set, including that of the aggregating state, and the result is a failure if
// any of them failed. delete with a position deletes a rule in each run.
package iptables

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state iptables. It loads only if the module iptables does.
func Plugin() loader.Plugin { return loader.Plugin{Name: "iptables", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("iptables.version") {
		return nil, errors.New("iptables module could not be loaded")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("append", m.append),
		loader.F("chain_absent", m.chainAbsent),
		loader.F("chain_present", m.chainPresent),
		loader.F("delete", m.delete),
		loader.F("flush", m.flush),
		loader.F("insert", m.insert),
		loader.F("mod_aggregate", m.modAggregate),
		loader.F("set_policy", m.setPolicy),
	}}, nil
}

func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	return change.Ask[any](ctx, m.env, "iptables."+fun, args, nil)
}

// keep manages something simple: look reports whether it is as desired, and apply changes it.
func keep(
	ctx context.Context, name string,
	look func(context.Context) (bool, error), apply func(context.Context) error, texts change.Texts,
) (change.Result, error) {
	return change.Thing[bool]{
		Name:   name,
		Look:   look,
		Wants:  func(is bool) *data.Map { return change.When(!is, data.NewMap("locale", name)) },
		Apply:  func(ctx context.Context, _ bool) error { return apply(ctx) },
		Silent: true,
		Texts:  texts,
	}.Ensure(ctx)
}

type chainArgs struct {
	Name   string
	Table  any `default:"'filter'"`
	Family any `default:"'ipv4'"`
}

// chainPresent creates a chain in a table.
//
//	LOGDROP:
//	  iptables.chain_present:
//	    - table: filter
//	    - family: ipv6
func (m *module) chainPresent(ctx context.Context, a chainArgs) (change.Result, error) {
	chain := "iptables " + a.Name + " chain"
	table, family := data.Str(a.Table), data.Str(a.Family)
	look := func(ctx context.Context) (bool, error) {
		there, err := m.call(ctx, "check_chain", a.Table, a.Name, a.Family)
		return there == true, err
	}
	apply := func(ctx context.Context) error {
		made, err := m.call(ctx, "new_chain", a.Table, a.Name, a.Family)
		if err == nil && made != true {
			err = errors.New("Failed to create " + a.Name + " chain in " + table + " table: " +
				trimmed(made) + " for " + family)
		}
		return err
	}
	return keep(ctx, a.Name, look, apply, change.Texts{
		Same:  chain + " is already exist in " + table + " table for " + family,
		Would: chain + " in " + table + " table needs to be set for " + family,
		Done:  chain + " in " + table + " table create success for " + family,
	})
}

// chainAbsent removes a chain and its rules from a table.
//
//	LOGDROP:
//	  iptables.chain_absent:
//	    - table: filter
func (m *module) chainAbsent(ctx context.Context, a chainArgs) (change.Result, error) {
	chain := "iptables " + a.Name + " chain"
	table, family := data.Str(a.Table), data.Str(a.Family)
	failed := func(operation string, complaint any) error {
		return errors.New("Failed to " + operation + " " + a.Name + " chain in " +
			table + " table: " +
			trimmed(complaint) + " for " + family)
	}
	look := func(ctx context.Context) (bool, error) {
		there, err := m.call(ctx, "check_chain", a.Table, a.Name, a.Family)
		return !data.Truth(there), err
	}
	apply := func(ctx context.Context) error {
		complaint, err := m.call(ctx, "flush", a.Table, a.Name, a.Family)
		switch {
		case err != nil:
			return err
		case data.Truth(complaint):
			return failed("flush", complaint)
		}
		gone, err := m.call(ctx, "delete_chain", a.Table, a.Name, a.Family)
		if err == nil && gone != true {
			err = failed("delete", gone)
		}
		return err
	}
	return keep(ctx, a.Name, look, apply, change.Texts{
		Same:  chain + " is already absent in " + table + " table for " + family,
		Would: chain + " in " + table + " table needs to be removed " + family,
		Done:  chain + " in " + table + " table delete success for " + family,
	})
}

type optionArgs struct {
	Name   string
	Table  any       `default:"'filter'"`
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// need returns an argument that is not a declared parameter. If it is missing, the error is
// Python's.
func (a optionArgs) need(name string) (any, error) {
	v, ok := a.Kwargs.Get(name)
	if !ok {
		return nil, loader.Exception("KeyError", "'%s'", name)
	}
	return v, nil
}

// setPolicy sets the policy of a chain for packets that match no rule.
//
// chain, policy
//
//	The chain, and ACCEPT or DROP.
//
// save
//
//	True: save the rules for the next boot. A path: save them to this file.
//
//	default to drop:
//	  iptables.set_policy:
//	    - chain: INPUT
//	    - policy: DROP
func (m *module) setPolicy(ctx context.Context, a optionArgs) (change.Result, error) {
	chain, err := a.need("chain")
	if err != nil {
		return change.Result{}, err
	}
	policy, err := a.need("policy")
	if err != nil {
		return change.Result{}, err
	}
	look := func(ctx context.Context) (bool, error) {
		now, err := m.call(ctx, "get_policy", a.Table, chain, a.Family)
		return data.Equal(now, policy), err
	}
	save, failed := a.Kwargs.Value("save"), "Failed to set iptables default policy"
	apply := func(ctx context.Context) error {
		complaint, err := m.call(ctx, "set_policy", a.Table, chain, policy, a.Family)
		if err == nil && data.Truth(complaint) {
			err = errors.New(failed)
		}
		if err == nil && data.Truth(save) {
			_, err = m.save(ctx, save, a.Family)
		}
		return err
	}
	set := "Set"
	if data.Truth(save) {
		set = "Set and saved"
	}
	about := "iptables default policy for chain " + data.Str(chain) + " on table " +
		data.Str(a.Table) + " for " + data.Str(a.Family)
	set += " default policy for " + data.Str(chain) + " to "
	return keep(ctx, a.Name, look, apply, change.Texts{
		Same:   about + " already set to " + data.Str(policy),
		Would:  about + " needs to be set to " + data.Str(policy),
		Done:   set + data.Str(policy) + " family " + data.Str(a.Family),
		Failed: failed,
	})
}

// flush removes all rules from a chain, or from all chains of a table.
//
// chain
//
//	The chain. Default: all.
//
//	no rules:
//	  iptables.flush:
//	    - table: nat
func (m *module) flush(ctx context.Context, a optionArgs) (change.Result, error) {
	chain, failed := "", "Failed to flush iptables rules"
	if a.Kwargs.Has("chain") {
		chain = data.Str(a.Kwargs.Value("chain"))
	}
	table, family := data.Str(a.Table), data.Str(a.Family)
	look := func(ctx context.Context) (bool, error) {
		rules, err := m.call(ctx, "get_rules", a.Family)
		return bare(rules, table, chain), err
	}
	apply := func(ctx context.Context) error {
		complaint, err := m.call(ctx, "flush", a.Table, chain, a.Family)
		if err == nil && data.Truth(complaint) {
			err = errors.New(failed)
		}
		return err
	}
	done := "Flush iptables rules in " + table + " table " + chain + " chain " + family + " family"
	return keep(ctx, a.Name, look, apply, change.Texts{
		Same: done,
		Would: "iptables rules in " + a.Name + " table " + table + " chain " + family +
			" family needs to be flushed",
		Done:   done,
		Failed: failed,
	})
}

// bare reports whether a chain, or all chains of a table, exist and have no rules.
func bare(tables any, table, chain string) bool {
	all, _ := tables.(*data.Map)
	chains, _ := all.Value(table).(*data.Map)
	if chain != "" && !chains.Has(chain) {
		return false
	}
	for name, v := range chains.All() {
		c, _ := v.(*data.Map)
		if (chain == "" || name == chain) && data.Truth(c.Value("rules")) {
			return false
		}
	}
	return true
}
