package minion

import (
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// unused are options of a minion that this version reads and does not carry out. Who starts a minion tells of those that are set to
// something other than their default, so that nobody relies on what is not there.
var unused = []string{
	"beacons", "beacons_before_connect", "engines",
	"random_master", "master_shuffle", "retry_dns", "retry_dns_count", "return_retry_timer", "return_retry_timer_max", "return_retry_tries",
	"master_alive_interval", "master_failback", "auth_safemode", "zmq_monitor", "discovery",
	"grains_dirs", "module_dirs", "returner_dirs", "states_dirs", "render_dirs", "proxy", "minion_restart_command", "restart_on_error",
	"winrepo_remotes", "fips_mode", "modules_max_memory", "snapper_states",
}

// Unused returns the options that are set in a configuration and that this version does not carry out.
func Unused(cfg *config.Minion) []string {
	opts, defaults := cfg.Map(), config.DefaultMinion().Map()
	var names []string
	for _, name := range unused {
		set, ok := opts.Get(name)
		usual, known := defaults.Get(name)
		if ok && !data.Equal(set, usual) && (known || data.Truth(set)) {
			names = append(names, name)
		}
	}
	return names
}
