package iptables

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type chainArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"None"`
	Family any `default:"'ipv4'"`
}

// checkChain returns whether a table has a chain.
//
// CLI Example:
//
//	salt '*' iptables.check_chain filter INPUT
func (m *module) checkChain(ctx context.Context, a chainArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return noChain, nil
	}
	out, err := m.saved(ctx, a.Family, " -t "+data.Str(a.Table))
	return strings.Contains(out, ":"+data.Str(a.Chain)+" "), err
}

// newChain adds a chain to a table. It returns True, or the error output of iptables.
//
// CLI Example:
//
//	salt '*' iptables.new_chain filter CUSTOM_CHAIN
func (m *module) newChain(ctx context.Context, a chainArgs) (any, error) {
	return m.onChain(ctx, "-N", a)
}

// deleteChain removes a chain from a table. It returns True, or the error output of iptables.
//
// CLI Example:
//
//	salt '*' iptables.delete_chain filter CUSTOM_CHAIN
func (m *module) deleteChain(ctx context.Context, a chainArgs) (any, error) {
	return m.onChain(ctx, "-X", a)
}

func (m *module) onChain(ctx context.Context, command string, a chainArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return noChain, nil
	}
	out, err := m.stderr(ctx, a.Family, a.Table, command, data.Str(a.Chain))
	if err != nil || out != "" {
		return out, err
	}
	return true, nil
}

type policyArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"None"`
	Policy any `default:"None"`
	Family any `default:"'ipv4'"`
}

// setPolicy sets the policy of a chain, which applies to packets that match no rule. It returns the
// error output of iptables, "" if there is none.
//
// CLI Example:
//
//	salt '*' iptables.set_policy filter INPUT ACCEPT
func (m *module) setPolicy(ctx context.Context, a policyArgs) (any, error) {
	switch {
	case !data.Truth(a.Chain):
		return noChain, nil
	case !data.Truth(a.Policy):
		return "Error: Policy needs to be specified", nil
	}
	return m.stderr(ctx, a.Family, a.Table, "-P", data.Str(a.Chain), data.Str(a.Policy))
}

// getPolicy returns the policy of a chain, which applies to packets that match no rule, or None if
// there is no such chain.
//
// CLI Example:
//
//	salt '*' iptables.get_policy filter INPUT
func (m *module) getPolicy(ctx context.Context, a chainArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return noChain, nil
	}
	chain, err := m.chain(ctx, a.Table, a.Chain, a.Family)
	return chain.Value("policy"), err
}

// chain returns an active chain, or nil if there is none.
func (m *module) chain(ctx context.Context, table, name, family any) (*data.Map, error) {
	v, err := m.getRules(ctx, familyArgs{family})
	if err != nil {
		return nil, err
	}
	return chainIn(v.(*data.Map), table, name), nil
}

func chainIn(tables *data.Map, table, name any) *data.Map {
	chains, _ := tables.Value(data.Str(table)).(*data.Map)
	chain, _ := chains.Value(data.Str(name)).(*data.Map)
	return chain
}

// getRules returns the active rules: by table and chain the policy, the counters packet count and
// byte count, the list rules and, by comment, rules_comment.
//
// CLI Example:
//
//	salt '*' iptables.get_rules
//	salt '*' iptables.get_rules family=ipv6
func (m *module) getRules(ctx context.Context, a familyArgs) (any, error) {
	out, err := m.saved(ctx, a.Family, "")
	if err != nil {
		return nil, err
	}
	return parse(out)
}

type savedArgs struct {
	ConfFile any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// getSavedRules returns the rules in the file of saved rules, in the form of iptables.get_rules.
//
// conf_file
//
//	The file. Default: the system's.
//
// CLI Example:
//
//	salt '*' iptables.get_saved_rules
func (m *module) getSavedRules(_ context.Context, a savedArgs) (any, error) {
	name, err := m.fileFor(a.ConfFile, a.Family)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(m.env.Root, name))
	if err != nil {
		return nil, loader.OSError(err)
	}
	return parse(string(text))
}

type savedPolicyArgs struct {
	Table    any `default:"'filter'"`
	Chain    any `default:"None"`
	ConfFile any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// getSavedPolicy returns the policy of a chain in the file of saved rules, or None if there is no
// such chain.
//
// conf_file
//
//	The file. Default: the system's.
//
// CLI Example:
//
//	salt '*' iptables.get_saved_policy filter INPUT
//	salt '*' iptables.get_saved_policy filter INPUT conf_file=/etc/iptables.saved
func (m *module) getSavedPolicy(ctx context.Context, a savedPolicyArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return noChain, nil
	}
	v, err := m.getSavedRules(ctx, savedArgs{a.ConfFile, a.Family})
	if err != nil {
		return nil, err
	}
	return chainIn(v.(*data.Map), a.Table, a.Chain).Value("policy"), nil
}
