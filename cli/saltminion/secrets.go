package saltminion

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/sdb"
)

// Resolve looks up the addresses sdb://PROFILE/KEY in a configuration. Unlike in Salt, one whose
// driver does not exist stays as it is, with a warning: a user's own driver exists only after it was
// synced, and a program that does not start cannot sync it.
func Resolve(
	ctx context.Context, cfg *config.Minion, report *config.Report, env func(string) string,
) error {
	var get func(ctx context.Context, uri string) (any, error)
	done := func() {}
	defer func() { done() }()
	return cfg.ResolveSDB(report, func(option, uri string) (any, error) {
		var err error
		if get == nil {
			if get, done, err = reader(cfg, env); err != nil {
				return nil, err
			}
		}
		v, err := get(ctx, uri)
		switch {
		case errors.Is(err, sdb.ErrNoDriver):
			report.WarnOption(option, fmt.Sprintf("%s is not resolved: %v", uri, err))
			return uri, nil
		case err != nil:
			return nil, fmt.Errorf("look up %s: %w", uri, err)
		}
		return v, nil
	})
}

// reader returns the function sdb.get of a minion that has no grains and no pillar yet. The caller
// calls done.
func reader(cfg *config.Minion, env func(string) string) (
	get func(ctx context.Context, uri string) (any, error), done func(), err error,
) {
	log := logrus.New()
	log.SetLevel(logrus.ErrorLevel)
	opts := cfg.Map()
	code := NewCode(opts, log, false)
	defer func() {
		if err != nil {
			code.Close()
		}
	}()
	if err := code.Check(); err != nil {
		return nil, nil, err
	}
	o, err := Options(cfg, env, log, code)
	if err != nil {
		return nil, nil, err
	}
	base := &loader.Env{Opts: opts, Log: log, Registries: map[string]*loader.Registry{}}
	functions, err := loader.NewRegistry(base, o.Plugins)
	if err != nil {
		return nil, nil, err
	}
	drivers, err := loader.NewRegistry(functions.Env(), o.SDB)
	if err != nil {
		return nil, nil, err
	}
	functions.Extend(code.Source("modules", functions.Env(), o.Plugins))
	drivers.Extend(code.Source("sdb", functions.Env(), o.SDB))
	base.Registries["sdb"] = drivers
	return func(ctx context.Context, uri string) (any, error) {
		return functions.Invoke(ctx, "sdb.get", []any{uri}, nil)
	}, code.Close, nil
}
