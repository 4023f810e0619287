package manage

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master/syndics"
)

type syndicsArgs struct {
	Minions bool `default:"False"`
}

// listSyndics returns the syndics of this master: whether each is connected, and how many minions are behind
// it. Salt has no such function.
//
// connected is None if that is unknown, as with a master of Salt's own. exact is False if the syndic
// sends no list of its minions, as those of Salt do: then only the minions count that it has named in
// jobs.
//
// minions
//
//	True also returns the ids of the minions.
//
// CLI Example:
//
//	salt-run manage.syndics
//	salt-run manage.syndics minions=True
func (m *module) listSyndics(_ context.Context, a syndicsArgs) (any, error) {
	all, err := syndics.Read(data.Str(m.env.Option("syndic_dir")))
	if err != nil {
		return nil, err
	}
	_, unknown := m.connected()
	ret := data.NewMap()
	for _, s := range all {
		one := data.NewMap("connected", nil, "minions", int64(len(s.Minions)), "exact", s.Complete)
		if unknown == nil {
			one.Set("connected", s.Here)
		}
		if a.Minions {
			one.Set("minions", data.Values(s.Minions))
		}
		ret.Set(s.ID, one)
	}
	return ret, nil
}
