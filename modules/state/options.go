package state

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// options returns the minion's options, changed by the arguments localconfig, saltenv and pillarenv
// of a call (salt/utils/state.py, get_sls_opts).
func (m *module) options(kwargs *data.Map) (*data.Map, error) {
	opts := m.env.Opts.Clone()
	if file, ok := kwargs.Get("localconfig"); ok {
		opts, err := config.Overlay(data.Str(file), opts, os.Getenv)
		if err != nil {
			return nil, loader.Exception("salt.exceptions.SaltConfigurationError", "%w", err)
		}
		return opts, nil
	}
	if saltenv := kwargs.Value("saltenv"); saltenv != nil {
		if data.Truth(opts.Value("lock_saltenv")) && data.Str(saltenv) != opts.Value("saltenv") {
			return nil, loader.Execution("lock_saltenv is enabled, saltenv cannot be changed")
		}
		opts.Set("saltenv", data.Str(saltenv))
	}
	if kwargs.Has("pillarenv") || data.Truth(opts.Value("pillarenv_from_saltenv")) {
		opts.Set("pillarenv", pillarEnv(kwargs))
	}
	return opts, nil
}

// pillarEnv returns the pillar environment that a call names, else its saltenv.
func pillarEnv(kwargs *data.Map) any {
	env := kwargs.Value("pillarenv")
	if !data.Truth(env) {
		env = kwargs.Value("saltenv")
	}
	if env == nil {
		return nil
	}
	return data.Str(env)
}

// withTest sets the option test for a call. The argument test comes first, then one with other
// letter case, then a setting test outside of the options, then the option.
func (m *module) withTest(ctx context.Context, opts *data.Map, test any, kwargs *data.Map) error {
	if test == nil {
		requested, err := m.testRequested(ctx, kwargs)
		if err != nil {
			return err
		}
		test = opts.Value("test")
		if requested {
			test = true
		}
	}
	opts.Set("test", test)
	return nil
}

func (m *module) testRequested(ctx context.Context, kwargs *data.Map) (bool, error) {
	for name, v := range kwargs.All() {
		if name, ok := name.(string); ok && strings.EqualFold(name, "test") && isTrue(v) {
			return true, nil
		}
	}
	set, err := m.env.Call(ctx, "config.get", []any{"test"}, data.NewMap("omit_opts", true))
	return set == true, err
}

// misspelt rejects an argument that looks like a misspelt test. Salt ignores unknown arguments, and
// would change the host although the caller wanted a dry run.
func misspelt(c sharedArgs) error {
	known := strings.Fields(`test pillar pillar_enc pillarenv saltenv env queue concurrent exclude whitelist localconfig mock sync_mods
		cache mods ids sls orchestration_jid terse text state_events`)
	for key := range c.kwargs.All() {
		name, ok := key.(string)
		if ok && !c.force && !slices.Contains(known, strings.ToLower(name)) &&
			config.Nearest(name, known) == "test" {
			return loader.Invocation("'%s' is an invalid keyword argument for state runs; did you mean 'test'?", name)
		}
	}
	return nil
}

// isTrue reports whether Salt takes v for true: numbers above zero, the text true, and other values
// by Python's rules (salt/utils/data.py, is_true).
func isTrue(v any) bool {
	if f, err := loader.Float(v); err == nil {
		return f > 0
	}
	if s, ok := v.(string); ok {
		return strings.EqualFold(s, "true")
	}
	return data.Truth(v)
}
