package pillar

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/yaml"
)

// Sources returns the external pillars of this package.
func Sources() []Source {
	return []Source{Command{"cmd_yaml"}, Command{"cmd_json"}, Command{"cmd_yamlex"}, CSV{},
		Nodegroups{}, FileTree{}, Stack{}, Puppet{}, Hiera{}, ExtraMinionData{}}
}

// A Command is the external pillar cmd_yaml, cmd_json or cmd_yamlex: the output of a command, in
// which %s is replaced by the minion's id (salt/pillar/cmd_yaml.py, cmd_json.py, cmd_yamlex.py).
// The command of cmd_yaml runs in a shell through the function cmd.run_stdout, those of the others
// without a shell through cmd.run. Unparsable output counts as empty; the log reports it without
// the output, which may hold secrets. If a command cannot be run the log has the full error, and
// the minion does not see the command. An id that a shell would split, or that a program would take
// for an option, is an error.
type Command struct {
	Format string // cmd_yaml, cmd_json or cmd_yamlex
}

// Name implements Source.
func (c Command) Name() string { return c.Format }

var _ OnDemandChecker = Command{}

// CheckOnDemand implements OnDemandChecker: minions must not choose a command.
func (Command) CheckOnDemand(any, *data.Map) error {
	return errors.New("a minion may not choose a command that the master runs")
}

var shellWord = regexp.MustCompile(`\A[\w.:@+=,][\w.:@+=,-]*\z`)

// Pillar implements Source.
func (c Command) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	args, err := Bind(q.Argument, 1, "command")
	if err != nil {
		return nil, err
	}
	command := data.Str(args.Value("command"))
	if strings.Contains(command, "%s") && !shellWord.MatchString(q.ID) {
		return nil, errors.New("the minion's id is not fit for a command line")
	}
	v, err := c.output(ctx, q, strings.ReplaceAll(command, "%s", q.ID))
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		return nil, errors.New("the output of the command is not a dictionary")
	}
	return m, nil
}

func (c Command) output(ctx context.Context, q Query, command string) (any, error) {
	env := q.Engine.Env()
	if c.Format != "cmd_yaml" {
		out, err := calls.RunOutput(ctx, env, calls.Run{Line: command, Shell: calls.CmdDecides})
		if err != nil {
			return nil, c.notRun(q, err)
		}
		if c.Format == "cmd_yamlex" {
			v, err := yaml.LoadYAMLEX([]byte(out), yaml.Options{})
			return c.readable(q, yaml.Plain(v), err), nil
		}
		v, err := pyjson.Load(out)
		return c.readable(q, v, err), nil
	}
	out, err := calls.RunStdout(ctx, env, calls.Run{Line: command, Shell: calls.InShell})
	if err != nil {
		return nil, c.notRun(q, err)
	}
	v, err := yaml.Load([]byte(out), yaml.Options{})
	return c.readable(q, v, err), nil
}

// notRun returns the error that a minion sees if a command cannot be run, and logs err, which
// contains the whole command.
func (c Command) notRun(q Query, err error) error {
	q.Log.Errorf("ext_pillar %s: its command for %s: %s", c.Format, q.ID, err)
	return errors.New("the command cannot be run; please see the master's log")
}

// readable returns the parsed output, or nil if err is set. It logs only the place of the error,
// because its text may contain parts of the output.
func (c Command) readable(q Query, v any, err error) any {
	if err != nil {
		q.Log.Errorf("ext_pillar %s: the output of its command for %s failed to parse%s", c.Format,
			q.ID, where(err))
		return nil
	}
	return v
}

// where returns the position of a YAML error.
func where(err error) string {
	if e, ok := errors.AsType[*yaml.Error](err); ok && e.ProblemMark != nil {
		return fmt.Sprintf(" at line %d, column %d", e.ProblemMark.Line+1, e.ProblemMark.Column+1)
	}
	return ""
}
