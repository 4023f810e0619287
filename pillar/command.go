package pillar

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// Sources returns the external pillars of this package.
func Sources() []Source {
	return []Source{Command{"cmd_yaml"}, Command{"cmd_json"}, CSV{}, Nodegroups{}, FileTree{}}
}

// A Command is the external pillar cmd_yaml or cmd_json: the output of a command, in which %s is the minion's id
// (salt/pillar/cmd_yaml.py, cmd_json.py). The command runs through the functions cmd.run_stdout, in a shell, and cmd.run,
// without. Output that is not readable counts as nothing and is told of in the log, without the output, which may hold secrets.
// An id that a shell would read as more than a word is an error.
type Command struct {
	Format string // cmd_yaml or cmd_json
}

// Name implements Source.
func (c Command) Name() string { return c.Format }

var shellWord = regexp.MustCompile(`\A[\w.:@+=,-]+\z`)

// Pillar implements Source.
func (c Command) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	args, err := bind(q.Argument, 1, "command")
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
		return nil, errors.New("the output of the command is no dictionary")
	}
	return m, nil
}

func (c Command) output(ctx context.Context, q Query, command string) (any, error) {
	call := q.Engine.Env().Call
	if c.Format == "cmd_json" {
		out, err := call(ctx, "cmd.run", []any{command}, nil)
		if err != nil {
			return nil, fmt.Errorf("run the command: %w", err)
		}
		v, err := render.LoadJSON(data.Str(out))
		return c.readable(q, v, err), nil
	}
	out, err := call(ctx, "cmd.run_stdout", []any{command}, data.NewMap("python_shell", true))
	if err != nil {
		return nil, fmt.Errorf("run the command: %w", err)
	}
	v, err := yaml.Load([]byte(data.Str(out)), yaml.Options{})
	return c.readable(q, v, err), nil
}

// readable is the value of an output, nil with an error. What the error says may show parts of the output.
func (c Command) readable(q Query, v any, err error) any {
	if err != nil {
		q.Log.Errorf("ext_pillar %s: the output of its command for %s failed to parse", c.Format, q.ID)
		return nil
	}
	return v
}
