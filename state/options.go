package state

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// fromMaster are the options for which the master's value wins if the master sets it.
var fromMaster = []string{
	"renderer", "failhard", "state_auto_order", "file_roots", "top_file_merging_strategy",
	"env_order", "default_top", "nodegroups", "state_top_saltenv", "jinja_env", "jinja_sls_env",
	"jinja_lstrip_blocks", "jinja_trim_blocks",
}

// eitherWay are the options that take effect if either the minion or the master sets them.
var eitherWay = []string{"state_events", "state_aggregate"}

// MasterOptions returns the options for compiling states: a copy of the minion's options, with
// those that the master decides taken from master (salt/state.py, BaseHighState.__gen_opts). If
// master is nil, it returns a plain copy.
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

// topURL returns the salt:// URL of the option state_top.
func topURL(top string) string {
	if top == "" {
		top = "top.sls"
	}
	if strings.HasPrefix(top, "salt://") {
		return top
	}
	return "salt://" + strings.TrimPrefix(top, "/")
}
