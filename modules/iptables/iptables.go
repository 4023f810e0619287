// Package iptables is Salt's module iptables: it reads and sets the rules of the kernel's packet
// filter (salt/modules/iptables.py).
//
// It uses the programs iptables and iptables-save, or with family=ipv6 ip6tables and
// ip6tables-save.
//
// Differences from Salt: a missing program for the family is an error, and so is a table that
// cannot be read. Salt runs a program None, or treats all chains as missing.
package iptables

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module iptables. It is available if the program iptables is installed.
func Plugin() loader.Plugin { return loader.Plugin{Name: "iptables", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if _, err := exec.LookPath("iptables"); err != nil {
		return nil, errors.New("The iptables execution module cannot be loaded: iptables not installed.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("append", m.append),
		loader.F("build_rule", m.buildRule),
		loader.F("check", m.check),
		loader.F("check_chain", m.checkChain),
		loader.F("delete", m.delete),
		loader.F("delete_chain", m.deleteChain),
		loader.F("flush", m.flush),
		loader.F("get_policy", m.getPolicy),
		loader.F("get_rules", m.getRules),
		loader.F("get_saved_policy", m.getSavedPolicy),
		loader.F("get_saved_rules", m.getSavedRules),
		loader.F("insert", m.insert),
		loader.F("new_chain", m.newChain),
		loader.F("save", m.save),
		loader.F("set_policy", m.setPolicy),
		loader.F("version", m.version),
	}}, nil
}

const (
	noChain    = "Error: Chain needs to be specified"
	noRule     = "Error: Rule needs to be specified"
	noPosition = "Error: Position needs to be specified or use append (-A)"
)

// program returns the path of the program for a family.
func program(family any) (string, error) {
	name := "iptables"
	if family == "ipv6" {
		name = "ip6tables"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", loader.NotFound("%s is not installed", name)
	}
	return path, nil
}

// stdout runs a command line of a family's program and returns its standard output. suffix follows
// the path of the program, and log is the log level of the output, "" for the default.
func (m *module) stdout(ctx context.Context, family any, suffix, log string) (string, error) {
	path, err := program(family)
	if err != nil {
		return "", err
	}
	return calls.RunStdout(ctx, m.env,
		calls.Run{Line: path + suffix, Shell: calls.CmdDecides, Log: log})
}

// saved returns the output of iptables-save for all tables, or for one. It returns an error if the
// program fails.
func (m *module) saved(ctx context.Context, family any, options string) (string, error) {
	path, err := program(family)
	if err != nil {
		return "", err
	}
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Line: path + "-save" + options, Shell: calls.CmdDecides})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("read the rules with %s-save%s: %s", path, options, ran.Stderr)
	}
	return ran.Stdout, err
}

// hasOption reports whether the program of a family has an option.
func (m *module) hasOption(ctx context.Context, option string, family any) (bool, error) {
	help, err := m.stdout(ctx, family, " --help", "quiet")
	return strings.Contains(help, option), err
}

// line returns a command line: the program, the option to wait for the lock, the table, and words.
func (m *module) line(ctx context.Context, family, table any, words ...string) (string, error) {
	path, err := program(family)
	if err != nil {
		return "", err
	}
	waits, err := m.hasOption(ctx, "--wait", family)
	wait := ""
	if waits {
		wait = "--wait"
	}
	// The command and the chain are one word in Salt's format: "-A INPUT".
	return path + " " + wait + " -t " + data.Str(table) + " " + strings.Join(words, " "), err
}

// stderr runs a command on a table and returns its standard error.
func (m *module) stderr(ctx context.Context, family, table any, words ...string) (string, error) {
	line, err := m.line(ctx, family, table, words...)
	if err != nil {
		return "", err
	}
	return calls.RunStderr(ctx, m.env, calls.Run{Line: line, Shell: calls.CmdDecides})
}

type familyArgs struct {
	Family any `default:"'ipv4'"`
}

// version returns the version of iptables.
//
// CLI Example:
//
//	salt '*' iptables.version
//	salt '*' iptables.version family=ipv6
func (m *module) version(ctx context.Context, a familyArgs) (any, error) {
	out, err := m.stdout(ctx, a.Family, " --version", "")
	if err != nil {
		return nil, err
	}
	words := strings.Fields(out)
	if len(words) < 2 {
		return nil, loader.Execution("iptables printed no version: %q", out)
	}
	return words[1], nil
}

type ruleArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"None"`
	Rule   any `default:"None"`
	Family any `default:"'ipv4'"`
}

// check returns whether a chain has a rule, given in iptables syntax without the chain.
//
// CLI Example:
//
//	salt '*' iptables.check filter INPUT rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
func (m *module) check(ctx context.Context, a ruleArgs) (any, error) {
	switch {
	case !data.Truth(a.Chain):
		return noChain, nil
	case !data.Truth(a.Rule):
		return noRule, nil
	}
	known, err := m.hasOption(ctx, "--check", a.Family)
	if err != nil {
		return nil, err
	}
	if !known {
		return m.compare(ctx, a)
	}
	path, err := program(a.Family)
	if err != nil {
		return nil, err
	}
	line := path + " -t " + data.Str(a.Table) + " -C " + data.Str(a.Chain) + " " + data.Str(a.Rule)
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Line: line, Shell: calls.CmdDecides, Log: "quiet"})
	return err == nil && ran.Retcode == 0, err
}

// probeChain is the temporary chain that compare uses to have iptables normalize a rule.
const probeChain = "0xb21ebeef0001"

// compare is check for versions of iptables without an option for that. It adds the rule to a
// temporary chain, and compares it with the rules of the chain as iptables-save prints them.
func (m *module) compare(ctx context.Context, a ruleArgs) (any, error) {
	path, err := program(a.Family)
	if err != nil {
		return nil, err
	}
	run := func(words string) error {
		line := path + " -t " + data.Str(a.Table) + " " + words
		_, err := calls.RunOutput(ctx, m.env, calls.Run{Line: line, Shell: calls.CmdDecides})
		return err
	}
	if err := errors.Join(run("-N "+probeChain),
		run("-A "+probeChain+" "+data.Str(a.Rule))); err != nil {
		return nil, err
	}
	out, err := m.saved(ctx, a.Family, "")
	if err = errors.Join(err, run("-F "+probeChain), run("-X "+probeChain)); err != nil {
		return nil, err
	}
	lines := map[string]bool{}
	for line := range strings.Lines(out) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	for line := range lines {
		if strings.HasPrefix(line, "-A "+probeChain) &&
			lines[strings.ReplaceAll(line, probeChain, data.Str(a.Chain))] {
			return true, nil
		}
	}
	return false, nil
}

// append adds a rule at the end of a chain, unless the chain has it. It returns whether it added
// the rule.
//
// CLI Example:
//
//	salt '*' iptables.append filter INPUT rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
func (m *module) append(ctx context.Context, a ruleArgs) (any, error) {
	there, err := m.check(ctx, a)
	if _, complaint := there.(string); complaint || err != nil {
		return there, err
	}
	if there == true {
		return false, nil
	}
	out, err := m.stderr(ctx, a.Family, a.Table, "-A", data.Str(a.Chain), data.Str(a.Rule))
	return out == "", err
}

type insertArgs struct {
	Table    any `default:"'filter'"`
	Chain    any `default:"None"`
	Position any `default:"None"`
	Rule     any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// insert inserts a rule into a chain. It returns False if the chain has the rule, otherwise the
// error output of iptables, "" if there is none.
//
// position
//
//	The position of the rule. A negative number counts from the end: -1 is before the last rule.
//
// CLI Example:
//
//	salt '*' iptables.insert filter INPUT position=3 rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
func (m *module) insert(ctx context.Context, a insertArgs) (any, error) {
	switch {
	case !data.Truth(a.Chain):
		return noChain, nil
	case !data.Truth(a.Position):
		return noPosition, nil
	case !data.Truth(a.Rule):
		return noRule, nil
	}
	position, err := m.position(ctx, a)
	if err != nil {
		return nil, err
	}
	there, err := m.check(ctx, ruleArgs{a.Table, a.Chain, a.Rule, a.Family})
	if err != nil || there == true {
		return false, err
	}
	return m.stderr(ctx, a.Family, a.Table, "-I", data.Str(a.Chain), data.Str(position),
		data.Str(a.Rule))
}

// position returns the position for a rule, counted from 1.
func (m *module) position(ctx context.Context, a insertArgs) (any, error) {
	number, err := loader.Int(a.Position)
	if err != nil {
		return nil, loader.Invocation("the position of a rule must be a number, not %s",
			data.Repr(a.Position))
	}
	if number >= 0 {
		return a.Position, nil
	}
	chain, err := m.chain(ctx, a.Table, a.Chain, a.Family)
	if err != nil {
		return nil, err
	}
	if chain == nil {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.Chain))
	}
	rules, _ := chain.Value("rules").([]any)
	return max(int64(len(rules))+number+1, 1), nil
}

type deleteArgs struct {
	Table    any
	Chain    any `default:"None"`
	Position any `default:"None"`
	Rule     any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// delete removes a rule from a chain: the rule at a position, or the given rule. It returns the
// error output of iptables, "" if there is none.
//
// CLI Example:
//
//	salt '*' iptables.delete filter INPUT position=3
//	salt '*' iptables.delete filter INPUT rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	if data.Truth(a.Position) {
		if data.Truth(a.Rule) {
			return "Error: Only specify a position or a rule, not both", nil
		}
		a.Rule = a.Position
	}
	return m.stderr(ctx, a.Family, a.Table, "-D", data.Str(a.Chain), data.Str(a.Rule))
}

type flushArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"''"`
	Family any `default:"'ipv4'"`
}

// flush removes all rules from a chain, or from all chains of a table. It returns the error output
// of iptables, "" if there is none.
//
// CLI Example:
//
//	salt '*' iptables.flush filter INPUT
func (m *module) flush(ctx context.Context, a flushArgs) (any, error) {
	return m.stderr(ctx, a.Family, a.Table, "-F", data.Str(a.Chain))
}
