package pillar

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// Nodegroups is the external pillar nodegroups: the names of the minion's node groups, under
// nodegroups or the key pillar_name (salt/pillar/nodegroups.py). Groups are matched with the grains
// that the minion sent.
type Nodegroups struct{}

// Name implements Source.
func (Nodegroups) Name() string { return "nodegroups" }

// Pillar implements Source.
func (Nodegroups) Pillar(_ context.Context, q Query) (*data.Map, error) {
	args, err := Bind(q.Argument, 0, "pillar_name")
	if err != nil {
		return nil, err
	}
	groups, _ := q.Opts.Value("nodegroups").(*data.Map)
	in := []any{}
	for name := range groups.All() {
		if q.inNodegroup(groups, name) {
			in = append(in, name)
		}
	}
	return data.NewMap(firstText(args.Text("pillar_name"), "nodegroups"), in), nil
}

// inNodegroup reports whether the minion matches the compound target of a node group.
func (q *Query) inNodegroup(groups *data.Map, name any) bool {
	e, err := match.Compile(groups.Value(name), "compound", "", match.Options{Nodegroups: groups})
	return err == nil && e.Match(&match.Minion{ID: q.ID, Grains: q.Grains, Pillar: q.Pillar})
}
