package state

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// fromMaster are the options of which the master's value counts where it has one.
var fromMaster = []string{
	"renderer", "failhard", "state_auto_order", "file_roots", "top_file_merging_strategy", "env_order", "default_top",
	"nodegroups", "state_top_saltenv", "jinja_env", "jinja_sls_env", "jinja_lstrip_blocks", "jinja_trim_blocks",
}

// eitherWay are the options that count when the minion or the master has them set.
var eitherWay = []string{"state_events", "state_aggregate"}

// MasterOptions returns the options under which states are compiled: a copy of the minion's with those that the master
// decides (salt/state.py, BaseHighState.__gen_opts). With a nil master it is the copy alone.
func MasterOptions(minion, master *data.Map) *data.Map {
	opts := minion.Clone()
	for _, name := range fromMaster {
		if v, ok := master.Get(name); ok {
			opts.Set(name, v)
		}
	}
	for _, name := range eitherWay {
		if !data.Truth(opts.Value(name)) && data.Truth(master.Value(name)) {
			opts.Set(name, master.Value(name))
		}
	}
	if top := master.Text("state_top"); top != "" {
		opts.Set("state_top", topURL(top))
	}
	return opts
}

// topURL returns the URL of the option state_top.
func topURL(top string) string {
	if top == "" {
		top = "top.sls"
	}
	if strings.HasPrefix(top, "salt://") {
		return top
	}
	return "salt://" + strings.TrimPrefix(top, "/")
}
