// Package ipsets runs the program ipset, and compares entries with the members of a set as the kernel
// stores them.
//
// ipsets.go runs the program, member.go parses members and entries, and part.go their addresses, ports
// and other parts.
package ipsets

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Run runs a command of ipset. words are its operands, none of them an option. Ran.Stdout has both
// streams.
func Run(ctx context.Context, env *loader.Env, command []string, words ...string) (calls.Ran, error) {
	if err := process.PlainOperands(words...); err != nil {
		return calls.Ran{}, loader.Execution("%w", err)
	}
	argv := append(append([]string{process.Find("ipset")}, command...), words...)
	return calls.RunAll(ctx, env, calls.Run{Argv: argv, MergeStderr: true})
}

// List runs ipset to list a set, and reports whether the set exists. Another failure is an error: it
// tells nothing of the set.
func List(ctx context.Context, env *loader.Env, command []string, name string) (text string, found bool,
	err error) {
	ran, err := Run(ctx, env, command, name)
	switch {
	case err != nil:
		return "", false, err
	case ran.Retcode == 0:
		return ran.Stdout, true, nil
	case strings.Contains(ran.Stdout+ran.Stderr, "The set with the given name does not exist"):
		return "", false, nil
	}
	return "", false, Failed(ran, append(command, name)...)
}

// Failed returns the error for a command that ends with a code.
func Failed(ran calls.Ran, command ...string) error {
	return loader.Execution("ipset %s: code %d: %s", strings.Join(command, " "), ran.Retcode,
		strings.TrimSpace(ran.Stdout+"\n"+ran.Stderr))
}

// Read returns a set, nil if it does not exist.
func Read(ctx context.Context, env *loader.Env, name string) (*Set, error) {
	text, found, err := List(ctx, env, []string{"list"}, name)
	if err != nil || !found {
		return nil, err
	}
	return New(Fields(text), Members(text)), nil
}

// Fields parses lines such as Type: hash:ip.
func Fields(text string) *data.Map {
	all := &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "Members:" {
			break
		}
		if key, value, ok := strings.Cut(line, ":"); ok {
			all.Set(key, strings.TrimPrefix(value, " "))
		}
	}
	return all
}

// Members returns the lines of the members in the list of a set.
func Members(text string) []string {
	_, lines, ok := strings.Cut(text, "Members:\n")
	if !ok || lines == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
}
