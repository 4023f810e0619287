package master

import (
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// unused are options of a master that this version reads and does not carry out. A name that is set to something other
// than its default is told of at the start, so that nobody relies on what is not there.
var unused = []string{
	"archive_jobs", "beacons", "engines_dirs",
	"eauth_tokens", "auth.enable_expanded_auth_matching",
	"hgfs_remotes", "svnfs_remotes",
	"pillar_roots", "ext_pillar", "git_pillar", "decrypt_pillar", "on_demand_ext_pillar", "master_tops", "pillar_version", "pillar_cache",
	"order_masters", "syndic_master", "enable_ssh_minions", "roster", "range_server", "cache", "con_cache",
	"key_cache", "discovery", "master_stats", "cluster_id", "cluster_peers", "cluster_pki_dir",
	"zmq_monitor", "winrepo_remotes", "runner_dirs", "returner_dirs", "module_dirs",
}

// warnOfUnused names each option that is set, to something else than before, and not carried out.
func warnOfUnused(cfg, before *config.Master, log logrus.FieldLogger) {
	for _, name := range unusedIn(cfg.Map(), before.Map()) {
		log.Warnf("option %s is set, but this version of the master does not carry it out", name)
	}
}

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
