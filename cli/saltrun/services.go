package saltrun

import (
	"context"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/runners"
)

// services returns what Salt's library for users' own runners needs of this program.
func (h *host) services() python.Services {
	return python.Services{Match: h.match, Pillar: h.compilePillar, Grains: h.ownGrains,
		Show: func(done *data.Map) { h.r.show("ret", done) }}
}

// match returns the minions that a target matches.
func (h *host) match(
	_ context.Context, tgt any, kind, delimiter string, greedy bool,
) ([]string, error) {
	var bank cache.Bank
	if h.bank != nil {
		bank = h.bank
	}
	fleet, err := runners.Fleet(h.Opts, h.tree, bank, greedy)
	if err != nil {
		return nil, err
	}
	ids, _, err := fleet.Resolve(tgt, kind, delimiter)
	return ids, err
}

// compilePillar compiles the pillar of a minion, as the master does for it.
func (h *host) compilePillar(
	ctx context.Context, id string, grains *data.Map, q loader.PillarQuery,
) (*data.Map, error) {
	return h.pillars.Compile(ctx, pillar.Request{ID: id, Grains: grains, SaltEnv: q.SaltEnv,
		PillarEnv: q.PillarEnv, Override: q.Override})
}

// ownGrains returns the grains of this host without those of users' own files.
func (h *host) ownGrains(ctx context.Context) (*data.Map, error) {
	return grains.New(grains.Options{Opts: h.Opts, Env: h.In.Env, Log: h.r.log}).Collect(ctx)
}
