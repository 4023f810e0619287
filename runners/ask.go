package runners

import (
	"context"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pki"
)

// Ask submits an order to minions through [loader.Host].Order. If the environment has no access to
// a master, the error is an *UnableError.
func Ask(
	ctx context.Context, env *loader.Env, order *data.Map,
	yield func(id string, answer *data.Map) bool,
) error {
	if env.Host.Order == nil {
		return &UnableError{Text: "No master is available here to send jobs to minions."}
	}
	return env.Host.Order(ctx, order, yield)
}

// Collect is Ask and returns all answers by minion.
func Collect(ctx context.Context, env *loader.Env, order *data.Map) (*data.Map, error) {
	all := &data.Map{}
	err := Ask(ctx, env, order, func(id string, answer *data.Map) bool {
		if answer != nil {
			all.Set(id, answer)
		}
		return true
	})
	return all, err
}

// Fleet returns the master's data for matching targets. greedy counts minions without cached data
// as matched.
func Fleet(opts *data.Map, keys pki.Store, bank cache.Bank, greedy bool) (*match.Fleet, error) {
	accepted, err := keys.List(pki.Accepted)
	if err != nil {
		return nil, err
	}
	groups, _ := opts.Value("nodegroups").(*data.Map)
	f := &match.Fleet{Accepted: accepted, DataCache: data.Truth(opts.Value("minion_data_cache")),
		Greedy: greedy, Nodegroups: groups}
	if bank != nil {
		f.Cache = minions.Cache{Bank: bank}
	}
	return f, nil
}
