package state

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// anyEnv stands for the one environment of the matches that has an SLS.
const anyEnv = "_xenv"

// include renders what one entry of an include list names: SLS, or {ENV: SLS} (salt/state.py, render_state).
func (d *document) include(ctx context.Context, entry any) error {
	saltenv := d.saltenv
	if m, ok := entry.(*data.Map); ok && m.Len() > 0 {
		var key any
		key, entry = m.At(m.Len() - 1)
		saltenv = data.Str(key)
	}
	known, err := d.have.any(ctx, saltenv)
	if err != nil {
		return err
	}
	if !known {
		d.logged(logging.Error, "Nonexistent saltenv '%s' found in include of '%s' within SLS '%s:%s'", saltenv, data.Str(entry), d.saltenv, d.sls)
		return nil
	}
	name, ok := entry.(string)
	if !ok {
		d.logged(logging.Error, "Badly formatted include %s found in include in SLS '%s:%s'", data.Str(entry), d.saltenv, d.sls)
		return nil
	}
	if name, ok = d.absolute(name); !ok {
		return nil
	}
	return d.includeNamed(ctx, name, saltenv)
}

// absolute returns the name that a relative one stands for.
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
		d.logged(logging.Error, "Attempted relative include of '%s' within SLS '%s:%s' goes beyond top level package ", name, d.saltenv, d.sls)
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
		d.logged(logging.Critical, "Unknown include: Specified SLS %s: %s is not available on the salt master in saltenv(s): %s ",
			saltenv, name, d.asked(saltenv))
		return nil
	case !own:
		d.logged(logging.Critical, "Ambiguous include: Specified SLS %s: %s is available on the salt master in multiple available saltenvs: %s",
			saltenv, name, joined(envs))
		return nil
	}
	names, err := d.have.named(ctx, d.saltenv, name)
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
	if d.done[saltenv+":"+sls] {
		return nil
	}
	before := len(d.errs)
	state, err := d.rendering.sls(ctx, sls, saltenv)
	if err != nil {
		return err
	}
	within := slices.Clone(d.errs[before:])
	if state == nil && len(within) == 1 && strings.HasSuffix(within[0], sls+" in saltenv "+saltenv+noFile) {
		d.c.env().Log.Warnf("SLS '%s:%s' includes SLS '%s:%s', which is not there", d.saltenv, d.sls, saltenv, sls)
	}
	d.errs = d.errs[:before]
	d.mergeInto(d.state, state)
	d.errs = append(d.errs, within...) // conflicts with it come first
	return nil
}

// asked returns the environments in which an include was looked for.
func (d *document) asked(saltenv string) string {
	if saltenv == anyEnv {
		return joined(d.matches.Keys())
	}
	return saltenv
}

// resolve returns the environments that an include is taken from.
func (d *document) resolve(ctx context.Context, name, saltenv string) ([]any, error) {
	candidates := []any{saltenv}
	if saltenv == anyEnv {
		candidates = d.matches.Keys()
	} else if d.matches.Has(saltenv) {
		return candidates, nil
	}
	var envs []any
	for _, env := range candidates {
		found, err := d.have.named(ctx, data.Str(env), name)
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
