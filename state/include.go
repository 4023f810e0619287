package state

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// anyEnv stands for whichever single environment of the matches has the SLS.
const anyEnv = "_xenv"

// include renders one entry of an include list: SLS, or {ENV: SLS} (salt/state.py, render_state).
func (d *document) include(ctx context.Context, entry any) error {
	saltenv := d.saltenv
	if m, ok := entry.(*data.Map); ok && m.Len() > 0 {
		var key any
		key, entry = m.At(m.Len() - 1)
		saltenv = data.Str(key)
	}
	known, err := d.rendering.available.hasOrDynamic(ctx, saltenv)
	if err != nil {
		return err
	}
	if !known {
		d.logProblem(logging.Error, "Nonexistent saltenv '%s' found in include of '%s' within SLS '%s:%s'", saltenv, data.Str(entry), d.saltenv, d.sls)
		return nil
	}
	name, ok := entry.(string)
	if !ok {
		d.logProblem(logging.Error, "Badly formatted include %s found in include in SLS '%s:%s'",
			data.Str(entry), d.saltenv, d.sls)
		return nil
	}
	if name, ok = d.absolute(name); !ok {
		return nil
	}
	return d.includeNamed(ctx, name, saltenv)
}

// absolute resolves a relative SLS name. It returns false and logs a problem if the name goes
// beyond the top level.
func (d *document) absolute(name string) (string, bool) {
	rest := strings.TrimLeft(name, ".")
	levels := len(name) - len(rest)
	if levels == 0 {
		return name, true
	}
	parts := strings.Split(d.sls, ".")
	if d.init {
		parts = append(parts, "init")
	}
	if levels > len(parts) {
		d.logProblem(logging.Error, "Attempted relative include of '%s' within SLS '%s:%s' goes beyond top level package ", name, d.saltenv, d.sls)
		return "", false
	}
	return strings.Join(append(parts[:len(parts)-levels], rest), "."), true
}

func (d *document) includeNamed(ctx context.Context, name, saltenv string) error {
	envs, err := d.resolve(ctx, name, saltenv)
	if err != nil {
		return err
	}
	from := d.saltenv
	switch own := contains(envs, d.saltenv); {
	case len(envs) == 1:
		from = envs[0].(string)
	case len(envs) == 0:
		d.logProblem(logging.Critical,
			"Unknown include: Specified SLS %s: %s is not available on the salt master in saltenv(s): %s ",
			saltenv, name, d.searchedEnvs(saltenv))
		return nil
	case !own:
		d.logProblem(logging.Critical,
			"Ambiguous include: Specified SLS %s: %s is available on the salt master in multiple available saltenvs: %s",
			saltenv, name, joined(envs))
		return nil
	}
	names, err := d.rendering.available.matching(ctx, d.saltenv, name)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{name}
	}
	for _, sls := range names {
		if err := d.includeOne(ctx, sls, from); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) includeOne(ctx context.Context, sls, saltenv string) error {
	if d.rendering.done[saltenv+":"+sls] {
		return nil
	}
	state, within, err := d.rendering.sls(ctx, sls, saltenv)
	if err != nil {
		return err
	}
	if len(within) == 1 && within[0].missing == saltenv+":"+sls {
		d.log.Warnf("SLS '%s:%s' includes SLS '%s:%s', which does not exist", d.saltenv,
			d.sls, saltenv, sls)
	}
	d.list = append(d.list, mergeInto(d.state, state)...)
	d.list = append(d.list, within...) // conflicts with the included SLS come first
	return nil
}

// searchedEnvs returns the environments that were searched for an include, for messages.
func (d *document) searchedEnvs(saltenv string) string {
	if saltenv == anyEnv {
		return joined(d.rendering.matches.Keys())
	}
	return saltenv
}

// resolve returns the environments that have an included SLS.
func (d *document) resolve(ctx context.Context, name, saltenv string) ([]any, error) {
	candidates := []any{saltenv}
	if saltenv == anyEnv {
		candidates = d.rendering.matches.Keys()
	} else if d.rendering.matches.Has(saltenv) {
		return candidates, nil
	}
	var envs []any
	for _, env := range candidates {
		found, err := d.rendering.available.matching(ctx, data.Str(env), name)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			envs = append(envs, data.Str(env))
		}
	}
	return envs, nil
}

func joined(list []any) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = data.Str(v)
	}
	return strings.Join(names, ", ")
}
