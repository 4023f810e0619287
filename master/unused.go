package master

import (
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// unused are options of a master that this version reads and does not carry out. What is set is told of at the start,
// so that nobody relies on what is not there.
var unused = []string{
	"archive_jobs", "beacons", "engines_dirs",
	"eauth_tokens", "auth.enable_expanded_auth_matching",
	"hgfs_remotes", "svnfs_remotes",
	"git_pillar", "pillar_version",
	"order_masters", "syndic_master", "enable_ssh_minions", "roster", "range_server", "cache", "con_cache",
	"key_cache", "discovery", "master_stats", "cluster_id", "cluster_peers", "cluster_pki_dir",
	"zmq_monitor", "winrepo_remotes", "runner_dirs", "returner_dirs", "module_dirs",
}

// Unused returns the options that are set in a configuration, to something else than their default, and that this version does not
// carry out. Who starts a master tells of them.
func Unused(cfg *config.Master) []string { return unusedIn(cfg.Map(), config.DefaultMaster().Map()) }

func unusedIn(opts, defaults *data.Map) []string {
	var names []string
	for _, name := range unused {
		set, ok := opts.Get(name)
		usual, known := defaults.Get(name)
		if !ok || data.Equal(set, usual) || !known && !data.Truth(set) || carriedOut(name, set) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// carriedOut knows values that differ from the default and mean what this master does.
func carriedOut(name string, value any) bool {
	text, _ := value.(string)
	switch name {
	case "eauth_tokens":
		return text == "localfs"
	case "cache":
		return strings.HasPrefix(text, "localfs")
	case "syndic_master":
		return true // for the program salt-syndic
	}
	return false
}
