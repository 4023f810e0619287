package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/render"
)

// ErrTop is returned by Top, sometimes wrapped, if top files cannot be merged. Its text is all that
// Salt's result has; the log has the reason as well.
var ErrTop = errors.New("Unable to render top file. No targets found.") //nolint:staticcheck // Salt's text

// tops holds the top files of each environment.
type tops struct {
	envs  []string
	files map[string][]*data.Map
}

func (t *tops) add(saltenv string, top *data.Map) {
	if _, ok := t.files[saltenv]; !ok {
		t.envs = append(t.envs, saltenv)
	}
	t.files[saltenv] = append(t.files[saltenv], top)
}

// Top returns the merged top data of all environments, and a list of problems: environment → target
// → list of SLS. The option top_file_merging_strategy selects how files are merged. A missing top
// file, or one that does not render, counts as empty; a rendering error is logged (salt/state.py,
// get_top and verify_tops). The error wraps ErrTop if targets are not a dictionary.
func (c *Compiler) Top(ctx context.Context) (*data.Map, []string, error) {
	t, err := c.tops(ctx)
	if broken := (*render.Error)(nil); errors.As(err, &broken) {
		c.env().Log.Errorf("Unable to render top file: %v", err)
		return data.NewMap(), nil, nil
	}
	if errors.Is(err, ErrTop) {
		c.env().Log.Error(err)
	}
	if err != nil {
		return nil, nil, err
	}
	top, err := c.merge(t)
	if err != nil {
		c.env().Log.Error(err)
		return nil, nil, ErrTop
	}
	return top, verifyTop(top), nil
}

func (c *Compiler) tops(ctx context.Context) (*tops, error) {
	if c.text("saltenv") == "" && c.text("top_file_merging_strategy") == "same" &&
		c.text("default_top") == "" {
		return nil, render.Errorf("top_file_merging_strategy set to 'same', but no default_top configuration option was set")
	}
	envs, err := c.topEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	t := &tops{files: map[string][]*data.Map{}}
	for _, saltenv := range envs {
		top, err := c.topFile(ctx, saltenv)
		if err != nil {
			return nil, err
		}
		t.add(saltenv, top)
	}
	return t, c.includeTops(ctx, t)
}

func (c *Compiler) topEnvironments(ctx context.Context) ([]string, error) {
	if saltenv := c.text("saltenv"); saltenv != "" {
		return []string{saltenv}, nil
	}
	if saltenv := c.env().Option("state_top_saltenv"); data.Truth(saltenv) {
		return []string{data.Str(saltenv)}, nil
	}
	return c.environments(ctx)
}

// topFile returns the top file of an environment, or an empty dictionary if it is missing.
func (c *Compiler) topFile(ctx context.Context, saltenv string) (*data.Map, error) {
	url := topURL(c.text("state_top"))
	file, err := c.files.CacheFile(ctx, url, saltenv, fileclient.Fetch{})
	if errors.Is(err, fileclient.ErrNotFound) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("fetch top file %s of saltenv %s: %w", url, saltenv, err)
	}
	return c.renderTop(ctx, file, render.Input{SaltEnv: saltenv})
}

func (c *Compiler) renderTop(ctx context.Context, file string, in render.Input) (*data.Map, error) {
	v, err := c.renderFile(ctx, file, in)
	if err != nil {
		return nil, err
	}
	top, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("%w: top file %s of saltenv %s is not a dictionary", ErrTop,
			file, in.SaltEnv)
	}
	return top, nil
}

// renderFile renders a file on this host.
func (c *Compiler) renderFile(ctx context.Context, file string, in render.Input) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	in.Text, in.Path = string(text), file
	return c.engine.Render(ctx, in)
}

// includeTops adds the SLS that top files include. As in Salt, includes of included files are
// ignored.
func (c *Compiler) includeTops(ctx context.Context, t *tops) error {
	have := c.avail()
	for _, saltenv := range t.envs {
		var done []string
		for _, pattern := range includesOf(t.files[saltenv]) {
			names, err := have.matching(ctx, saltenv, pattern)
			if err != nil {
				return err
			}
			for _, sls := range names {
				if slices.Contains(done, sls) {
					continue
				}
				done = append(done, sls)
				if err := c.includeTop(ctx, t, sls, saltenv); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *Compiler) includeTop(ctx context.Context, t *tops, sls, saltenv string) error {
	_, file, err := c.files.State(ctx, sls, saltenv)
	if err != nil {
		return fmt.Errorf("fetch SLS %s of saltenv %s, included by a top file: %w", sls,
			saltenv, err)
	}
	top, err := c.renderTop(ctx, file, render.Input{SaltEnv: saltenv})
	if err == nil {
		t.add(saltenv, top)
	}
	return err
}

// includesOf removes the includes from top files and returns them.
func includesOf(files []*data.Map) []string {
	var patterns []string
	for _, top := range files {
		patterns = append(patterns, texts(top.Value("include"))...)
		top.Delete("include")
	}
	return patterns
}

// verifyTop returns the problems in merged top data (salt/state.py, verify_tops).
func verifyTop(top *data.Map) []string {
	var problems []string
	for saltenv, targets := range top.All() {
		if _, ok := saltenv.(string); !ok {
			problems = append(problems, fmt.Sprintf("Environment %s in top file is not formed as a string", data.Str(saltenv)))
		}
		if saltenv == "" {
			problems = append(problems, "Empty saltenv statement in top file")
		}
		for _, mods := range targets.(*data.Map).All() {
			problems = append(problems, verifyMods(saltenv, mods)...)
		}
	}
	return problems
}

func verifyMods(saltenv, mods any) []string {
	list, ok := mods.([]any)
	if !ok {
		return []string{"Malformed topfile (state declarations not formed as a list)"}
	}
	var problems []string
	for _, mod := range list {
		options, _ := mod.(*data.Map)
		for _, v := range options.All() {
			if !data.Truth(v) {
				problems = append(problems, fmt.Sprintf("Improperly formatted top file matcher in saltenv %s: %s file", Text(mod), Text(v)))
			}
		}
		if mod == "" {
			problems = append(problems, fmt.Sprintf("Environment %s contains an empty sls index",
				data.Str(saltenv)))
		}
	}
	return problems
}
