package master

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/runners"
)

// Matching returns the accepted minions that a target matches. greedy counts minions without cached
// data as matched.
func (m *Master) Matching(tgt any, kind, delimiter string, greedy bool) ([]string, error) {
	fleet, err := runners.Fleet(m.parts.settings.saltOptions(), m.parts.keys, m.parts.data.bank, greedy)
	if err != nil {
		return nil, err
	}
	ids, _, err := fleet.Resolve(tgt, kind, delimiter)
	return ids, err
}

// CompilePillar compiles the pillar of a minion with these grains and stores nothing.
func (m *Master) CompilePillar(
	ctx context.Context, id string, grains *data.Map, q loader.PillarQuery,
) (*data.Map, error) {
	return m.parts.compiler.Compile(ctx, pillar.Request{ID: id, Grains: grains, SaltEnv: q.SaltEnv,
		PillarEnv: q.PillarEnv, Override: q.Override})
}
