package state

import (
	"context"

	"github.com/brineproject/brine/data"
)

// Usage returns for each environment the SLS that the top file assigns to the minion (used) and the
// others (unused), with count_all, count_used and count_unused. It also returns a list of problems
// with the top files (salt/state.py, compile_state_usage).
func (c *Compiler) Usage(ctx context.Context) (*data.Map, []string, error) {
	top, problems, err := c.Top(ctx)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	matches, err := c.Matches(ctx, top)
	if err != nil {
		return nil, nil, err
	}
	envs, err := c.environments(ctx)
	if err != nil {
		return nil, nil, err
	}
	usage := data.NewMap()
	for _, saltenv := range distinct(append([]string{"base"}, envs...)) {
		names, err := c.files.States(ctx, saltenv)
		if err != nil {
			return nil, nil, err
		}
		matched, _ := matches.Value(saltenv).([]any)
		usage.Set(saltenv, usageOf(names, matched))
	}
	return usage, nil, nil
}

func usageOf(names []string, matched []any) *data.Map {
	used, unused := []any{}, []any{}
	for _, sls := range names {
		if contains(matched, sls) {
			used = append(used, sls)
		} else {
			unused = append(unused, sls)
		}
	}
	return data.NewMap("used", used, "unused", unused, "count_all", int64(len(names)),
		"count_used", int64(len(used)), "count_unused", int64(len(unused)))
}
