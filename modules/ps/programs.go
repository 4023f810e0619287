//go:build linux

package ps

import (
	"context"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	programs "github.com/brineproject/brine/process"
)

type nameArgs struct{ Name any }

// run runs a command and returns its output.
func (m *module) run(ctx context.Context, command string) (string, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Line: command, Shell: calls.CmdDecides})
}

// found runs a program, which must be installed, and returns the lines that contain a name.
func (m *module) found(ctx context.Context, command string, name any) (any, error) {
	program, _, _ := strings.Cut(command, " ")
	if programs.Find(program) == "" {
		return nil, loader.Exception("salt.exceptions.CommandNotFoundError",
			"The '%s' binary was not found in $PATH.", program)
	}
	out, err := m.run(ctx, command)
	if err != nil {
		return nil, err
	}
	text, lines := data.Str(name), []any{}
	for line := range strings.Lines(out) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return []any{text, lines}, nil
}

// lsof returns the output of lsof for the processes with a name.
//
// CLI Example:
//
//	salt '*' ps.lsof apache2
func (m *module) lsof(ctx context.Context, a nameArgs) (any, error) {
	name := data.Str(a.Name)
	out, err := m.run(ctx, "lsof -c "+name)
	return []any{name, out}, err
}

// netstat returns the lines of netstat that contain a name.
//
// CLI Example:
//
//	salt '*' ps.netstat apache2
func (m *module) netstat(ctx context.Context, a nameArgs) (any, error) {
	return m.found(ctx, "netstat -nap", a.Name)
}

// ss returns the lines of ss that contain a name.
//
// CLI Example:
//
//	salt '*' ps.ss apache2
func (m *module) ss(ctx context.Context, a nameArgs) (any, error) {
	return m.found(ctx, "ss -neap", a.Name)
}

// psaux returns the lines of ps that match a regular expression, and their number.
//
// CLI Example:
//
//	salt '*' ps.psaux www-data.+apache2
func (m *module) psaux(ctx context.Context, a nameArgs) (any, error) {
	name := data.Str(a.Name)
	fits, err := searching(name)
	if err != nil {
		return nil, err
	}
	own, err := searching("salt.+ps.psaux.+")
	if err != nil {
		return nil, err
	}
	out, err := m.run(ctx, "ps aux")
	if err != nil {
		return nil, err
	}
	lines := []any{}
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, "\n"); fits(line) && !own(line) {
			lines = append(lines, line)
		}
	}
	return []any{name, lines, strconv.Itoa(len(lines)) + " occurence(s)."}, nil
}
