// Package iptables is Salt's state iptables: it keeps chains, rules and policies of the kernel's packet filter
// (salt/states/iptables.py). The module iptables reads and sets them.
//
// What differs from Salt: test mode saves nothing; rules are saved where the file is missing; delete takes all copies of a rule away;
// flush reports no change where there are no rules; of rules that were joined each is set, the one that joins them too, and
// their result is a failure where one failed. delete with a position deletes each time that it runs.
package iptables

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state iptables. There is one where there is the module iptables.
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
	return m.env.Call(ctx, "iptables."+fun, args, nil)
}

type chainArgs struct {
	Name   string
	Table  any `default:"'filter'"`
	Family any `default:"'ipv4'"`
}

// chainPresent keeps a chain in a table.
//
//	LOGDROP:
//	  iptables.chain_present:
//	    - table: filter
//	    - family: ipv6
func (m *module) chainPresent(ctx context.Context, a chainArgs) (any, error) {
	there, err := m.call(ctx, "check_chain", a.Table, a.Name, a.Family)
	if err != nil {
		return nil, err
	}
	table, family := data.Str(a.Table), data.Str(a.Family)
	if there == true {
		return change.Done(a.Name, fmt.Sprintf("iptables %s chain is already exist in %s table for %s", a.Name, table, family)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("iptables %s chain in %s table needs to be set for %s", a.Name, table, family)), nil
	}
	made, err := m.call(ctx, "new_chain", a.Table, a.Name, a.Family)
	if err != nil {
		return nil, err
	}
	if made != true {
		return change.Failed(a.Name, fmt.Sprintf("Failed to create %s chain in %s table: %s for %s", a.Name, table, trimmed(made), family)), nil
	}
	return set(a.Name, fmt.Sprintf("iptables %s chain in %s table create success for %s", a.Name, table, family)), nil
}

// chainAbsent takes a chain out of a table, with its rules.
//
//	LOGDROP:
//	  iptables.chain_absent:
//	    - table: filter
func (m *module) chainAbsent(ctx context.Context, a chainArgs) (any, error) {
	there, err := m.call(ctx, "check_chain", a.Table, a.Name, a.Family)
	if err != nil {
		return nil, err
	}
	table, family := data.Str(a.Table), data.Str(a.Family)
	if !data.Truth(there) {
		return change.Done(a.Name, fmt.Sprintf("iptables %s chain is already absent in %s table for %s", a.Name, table, family)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("iptables %s chain in %s table needs to be removed %s", a.Name, table, family)), nil
	}
	complaint, err := m.call(ctx, "flush", a.Table, a.Name, a.Family)
	if err != nil {
		return nil, err
	}
	if data.Truth(complaint) {
		return change.Failed(a.Name, fmt.Sprintf("Failed to flush %s chain in %s table: %s for %s", a.Name, table, trimmed(complaint), family)), nil
	}
	gone, err := m.call(ctx, "delete_chain", a.Table, a.Name, a.Family)
	if err != nil {
		return nil, err
	}
	if gone != true {
		return change.Failed(a.Name, fmt.Sprintf("Failed to delete %s chain in %s table: %s for %s", a.Name, table, trimmed(gone), family)), nil
	}
	return set(a.Name, fmt.Sprintf("iptables %s chain in %s table delete success for %s", a.Name, table, family)), nil
}

// set returns the result of a state that changed what its name says.
func set(name, comment string) *data.Map {
	return change.New(name, true, data.NewMap("locale", name), comment)
}

type optionArgs struct {
	Name   string
	Table  any       `default:"'filter'"`
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// need returns an argument that is none of the parameters; without it the state fails as Python does.
func (a optionArgs) need(name string) (any, error) {
	v, ok := a.Kwargs.Get(name)
	if !ok {
		return nil, loader.Exception("KeyError", "'%s'", name)
	}
	return v, nil
}

// setPolicy sets what becomes of packets that no rule of a chain is for.
//
// chain, policy
//
//	The chain, and ACCEPT or DROP.
//
// save
//
//	True: save the rules for the next start of the system. A text: save them in this file.
//
//	default to drop:
//	  iptables.set_policy:
//	    - chain: INPUT
//	    - policy: DROP
func (m *module) setPolicy(ctx context.Context, a optionArgs) (any, error) {
	chain, err := a.need("chain")
	if err != nil {
		return nil, err
	}
	policy, err := a.need("policy")
	if err != nil {
		return nil, err
	}
	now, err := m.call(ctx, "get_policy", a.Table, chain, a.Family)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("iptables default policy for chain %s on table %s for %s", data.Str(chain), data.Str(a.Table), data.Str(a.Family))
	if data.Equal(now, policy) {
		return change.Done(a.Name, about+" already set to "+data.Str(policy)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, about+" needs to be set to "+data.Str(policy)), nil
	}
	complaint, err := m.call(ctx, "set_policy", a.Table, chain, policy, a.Family)
	if err != nil {
		return nil, err
	}
	if data.Truth(complaint) {
		return change.Failed(a.Name, "Failed to set iptables default policy"), nil
	}
	done := fmt.Sprintf("default policy for %s to %s family %s", data.Str(chain), data.Str(policy), data.Str(a.Family))
	if !data.Truth(a.Kwargs.Value("save")) {
		return set(a.Name, "Set "+done), nil
	}
	_, err = m.save(ctx, a.Kwargs.Value("save"), a.Family)
	return set(a.Name, "Set and saved "+done), err
}

// flush takes all rules out of a chain, or out of all chains of a table.
//
// chain
//
//	The chain. Default: all.
//
//	no rules:
//	  iptables.flush:
//	    - table: nat
func (m *module) flush(ctx context.Context, a optionArgs) (any, error) {
	chain := data.Str(a.Kwargs.Value("chain"))
	if !a.Kwargs.Has("chain") {
		chain = ""
	}
	done := fmt.Sprintf("Flush iptables rules in %s table %s chain %s family", data.Str(a.Table), chain, data.Str(a.Family))
	v, err := m.call(ctx, "get_rules", a.Family)
	if err != nil {
		return nil, err
	}
	if bare(v, data.Str(a.Table), chain) {
		return change.Done(a.Name, done), nil
	}
	if change.Test(ctx) {
		would := fmt.Sprintf("iptables rules in %s table %s chain %s family needs to be flushed", a.Name, data.Str(a.Table), data.Str(a.Family))
		return change.Would(a.Name, nil, would), nil
	}
	complaint, err := m.call(ctx, "flush", a.Table, chain, a.Family)
	if err != nil {
		return nil, err
	}
	if data.Truth(complaint) {
		return change.Failed(a.Name, "Failed to flush iptables rules"), nil
	}
	return set(a.Name, done), nil
}

// bare reports whether a chain, or all chains of a table, are there and have no rules.
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
