package pillar

import (
	"cmp"

	"github.com/brineproject/brine/data"
)

// Override returns a pillar with the override of a command line merged over it, by the options
// pillar_source_merging_strategy, renderer and pillar_merge_lists. Neither is changed
// (salt/state.py, State.__init__).
func Override(pillar, over, opts *data.Map) *data.Map {
	strategy := strategyOf(cmp.Or(opts.Text("pillar_source_merging_strategy"), "smart"),
		opts.Text("renderer"))
	return merge(pillar, over, strategy, data.Truth(opts.Value("pillar_merge_lists")))
}
