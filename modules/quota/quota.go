// Package quota is Salt's module quota: disk quotas of users and groups, by the programs of the package
// quota (salt/modules/quota.py).
//
// Differences from Salt: operands that a program would read as options are refused, and so are line
// ends; quota.warn runs warnquota, whereas Salt runs a program that does not exist; unreadable lines
// are skipped.
package quota

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module quota. It is available on hosts with the program setquota.
func Plugin() loader.Plugin { return loader.Plugin{Name: "quota", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("setquota") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The quota execution module cannot be loaded: the module is only " +
			"available on POSIX-like systems with the setquota binary available.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_mode", m.getMode),
		loader.F("off", m.off),
		loader.F("on", m.on),
		loader.F("report", m.report),
		loader.F("set", m.set).Def("set_"),
		loader.F("stats", m.stats),
		loader.F("warn", m.warn),
	}}, nil
}

type noArgs struct{}

type deviceArgs struct{ Device string }

// output runs a program with plain operands after its options, and returns all that it prints.
func (m *module) output(ctx context.Context, argv []string, operands ...string) (string, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return "", loader.Execution("%w", err)
	}
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: append(argv, operands...)})
}

// succeed is output for a program that must succeed.
func (m *module) succeed(ctx context.Context, argv []string, operands ...string) (string, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return "", loader.Execution("%w", err)
	}
	argv = append(argv, operands...)
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, MergeStderr: true})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("%s: code %d: %s", strings.Join(argv, " "), ran.Retcode,
			strings.TrimSpace(ran.Stdout+"\n"+ran.Stderr))
	}
	return ran.Stdout, err
}

type reportArgs struct{ Mount string }

// report returns the quotas of users and groups on a file system.
//
// CLI Example:
//
//	salt '*' quota.report /media/data
func (m *module) report(ctx context.Context, a reportArgs) (any, error) {
	users, err := m.quotas(ctx, a.Mount, "-u")
	if err != nil {
		return nil, err
	}
	groups, err := m.quotas(ctx, a.Mount, "-g")
	return data.NewMap(a.Mount, data.NewMap("User Quotas", users, "Group Quotas", groups)), err
}

func (m *module) quotas(ctx context.Context, mount, option string) (*data.Map, error) {
	out, err := m.succeed(ctx, []string{"repquota", "-vp", option}, mount)
	if err != nil {
		return nil, err
	}
	return parse(out, map[string]string{"-u": "Users", "-g": "Groups"}[option]), nil
}

// parse reads the output of repquota. kind is the key of its table.
func parse(text, kind string) *data.Map {
	table, header := &data.Map{}, true
	all := data.NewMap(kind, table)
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case header && strings.Contains(line, "Block grace time"):
			block, inode, _ := strings.Cut(line, ";")
			all.Set("Block Grace Time", last(block))
			all.Set("Inode Grace Time", last(inode))
		case header:
			header = !strings.HasPrefix(line, "-")
		case len(words) >= 10:
			table.Set(words[0], data.NewMap("block-used", words[2], "block-soft-limit", words[3],
				"block-hard-limit", words[4], "block-grace", words[5], "file-used", words[6],
				"file-soft-limit", words[7], "file-hard-limit", words[8], "file-grace", words[9]))
		}
	}
	return all
}

// last returns a list of what follows the last colon of a text.
func last(text string) []any {
	parts := strings.Split(text, ": ")
	return []any{parts[len(parts)-1]}
}

type setArgs struct {
	Device string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// set sets the limits of a user or group on a file system, and returns them. A limit that is not given
// becomes 0, which is none.
//
// user, group
//
//	One of both.
//
// block-soft-limit, block-hard-limit, file-soft-limit, file-hard-limit
//
//	The limits.
//
// CLI Example:
//
//	salt '*' quota.set /media/data user=larry block-soft-limit=1048576
//	salt '*' quota.set /media/data group=painters file-hard-limit=1000
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	kind, option := "User", "-u"
	switch {
	case a.Kwargs.Has("user") && a.Kwargs.Has("group"):
		if _, err := m.quotas(ctx, a.Device, option); err != nil { // as in Salt
			return nil, err
		}
		return nil, loader.Invocation("Please specify a user or group, not both.")
	case a.Kwargs.Has("group"):
		kind, option = "Group", "-g"
	case !a.Kwargs.Has("user"):
		return nil, loader.Execution("A valid user or group was not found")
	}
	owner := a.Kwargs.Text(strings.ToLower(kind))
	if _, err := m.quotas(ctx, a.Device, option); err != nil {
		return nil, err
	}
	limits, operands := &data.Map{}, []string{owner}
	for _, limit := range []string{"block-soft-limit", "block-hard-limit", "file-soft-limit",
		"file-hard-limit"} {
		v, ok := a.Kwargs.Get(limit)
		if !ok {
			v = int64(0)
		}
		limits.Set(limit, v)
		operands = append(operands, data.Str(v))
	}
	operands = append(operands, a.Device)
	if err := process.PlainOperands(operands...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{"setquota", option}, operands...)})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("Unable to set desired quota. Error follows: \n%s", ran.Stderr)
	}
	return data.NewMap(kind+": "+owner, limits), err
}

// warn sends mail to users who exceed their limits, by the program warnquota.
//
// CLI Example:
//
//	salt '*' quota.warn
func (m *module) warn(ctx context.Context, _ noArgs) (any, error) {
	_, err := m.succeed(ctx, []string{"warnquota"})
	return nil, err
}

// stats returns the kernel's statistics of quotas, by the program quotastats.
//
// CLI Example:
//
//	salt '*' quota.stats
func (m *module) stats(ctx context.Context, _ noArgs) (any, error) {
	out, err := m.succeed(ctx, []string{"quotastats"})
	all := &data.Map{}
	for line := range strings.SplitSeq(out, "\n") {
		if parts := strings.Split(line, ": "); len(parts) > 1 {
			all.Set(parts[0], parts[1])
		}
	}
	return all, err
}

// on turns quotas on for a file system.
//
// CLI Example:
//
//	salt '*' quota.on /media/data
func (m *module) on(ctx context.Context, a deviceArgs) (any, error) {
	_, err := m.succeed(ctx, []string{"quotaon"}, a.Device)
	return err == nil, err
}

// off turns quotas off for a file system.
//
// CLI Example:
//
//	salt '*' quota.off /media/data
func (m *module) off(ctx context.Context, a deviceArgs) (any, error) {
	_, err := m.succeed(ctx, []string{"quotaoff"}, a.Device)
	return err == nil, err
}

// getMode returns whether quotas of users and groups are on or off, and the device, below the mount
// point.
//
// CLI Example:
//
//	salt '*' quota.get_mode /media/data
func (m *module) getMode(ctx context.Context, a deviceArgs) (any, error) {
	out, err := m.output(ctx, []string{"quotaon", "-p"}, a.Device)
	if err != nil {
		return nil, err
	}
	return modes(out, a.Device), nil
}

// modes reads lines such as user quota on / (/dev/sda1) is off.
func modes(text, device string) *data.Map {
	all := &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) > 4 && strings.HasPrefix(words[0], "quotaon") &&
			strings.HasPrefix(words[1], "Mountpoint"):
			all.Set(words[4], "disabled")
		case len(words) > 1 && strings.HasPrefix(words[0], "quotaon") &&
			strings.HasPrefix(words[1], "Cannot"):
			all.Set(device, "Not found")
			return all
		case len(words) > 6 && !strings.HasPrefix(words[0], "quotaon"):
			of, ok := all.Value(words[3]).(*data.Map)
			if !ok {
				of = data.NewMap("device", strings.NewReplacer("(", "", ")", "").Replace(words[4]))
				all.Set(words[3], of)
			}
			of.Set(words[0], words[6])
		}
	}
	return all
}
