package saltminion

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Identify sets the ID of a minion to the result of its id_function. Without that option, or with a
// configured id, it does nothing.
func Identify(ctx context.Context, cfg *config.Minion, env func(string) string) error {
	fun, kwargs, err := cfg.IDFunction()
	if err != nil || fun == "" {
		return err
	}
	log := logrus.New()
	log.SetLevel(logrus.ErrorLevel)
	o, err := Options(cfg, env, log, nil)
	if err != nil {
		return err
	}
	facts, err := o.Grains(ctx)
	if err != nil {
		return fmt.Errorf("id_function: collect grains: %w", err)
	}
	functions, err := loader.NewRegistry(&loader.Env{Opts: cfg.Map(),
		Grains: func() *data.Map { return facts }, Log: log}, o.Plugins)
	if err != nil {
		return err
	}
	id, err := functions.Invoke(ctx, fun, nil, kwargs)
	if err != nil {
		return fmt.Errorf("id_function: call %s: %w", fun, err)
	}
	return cfg.SetID(id)
}
