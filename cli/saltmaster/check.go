package saltmaster

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/auth"
	stdauth "github.com/brineproject/brine/auth/standard"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/minionfs"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/vault"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/returners/opener"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/schedule"
	wheels "github.com/brineproject/brine/wheel"
)

// A check validates one option and returns findings of package config.
type check struct {
	option   string
	validate func(cfg *config.Master) error
}

// checks returns what a master validates before it starts besides the types of options: names of
// plug-ins in this program, and the shape of options that hold lists and mappings.
func checks() []check {
	return []check{
		{"master_job_cache", func(cfg *config.Master) error { return unknownReturner(cfg, cfg.JobCacheName(), opener.Jobs) }},
		{"ext_job_cache", func(cfg *config.Master) error { return unknownReturner(cfg, cfg.ExtJobCache, opener.Jobs) }},
		{"event_return", checkSinks},
		{"fileserver_backend", func(cfg *config.Master) error { return checkBackends(cfg.Map()) }},
		{"ext_pillar", checkPillars},
		{"on_demand_ext_pillar", checkOnDemand},
		{"pillar_cache_backend", checkPillarCache},
		{"pillar_source_merging_strategy", checkStrategy},
		{"renderer", func(cfg *config.Master) error { return checkPipe(cfg, "renderer") }},
		{"decrypt_pillar_default", func(cfg *config.Master) error { return checkPipe(cfg, "decrypt_pillar_default") }},
		{"master_tops", checkTops},
		{"gitfs_remotes", func(cfg *config.Master) error { return gitfs.Check(cfg.Map()) }},
		{"publisher_acl", func(cfg *config.Master) error { return auth.CheckACL(cfg.PublisherACL) }},
		{"publisher_acl_blacklist", func(cfg *config.Master) error { return auth.CheckBlacklist(cfg.PublisherACLBlacklist) }},
		{"external_auth", checkLogins},
		{"peer", func(cfg *config.Master) error { return auth.CheckPeers(cfg.Peer) }},
		{"peer_run", func(cfg *config.Master) error { return auth.CheckPeers(cfg.PeerRun) }},
		{"mine_get", func(cfg *config.Master) error { return auth.CheckPeers(cfg.MineGet) }},
		{"order_masters", checkSyndics},
		{"nodegroups", func(cfg *config.Master) error { return checkGroups(cfg.Nodegroups) }},
		{"reactor", checkReactions},
		{"ext_processes", master.CheckPrograms},
		{"engines", checkEngines},
		{"schedule", checkSchedule},
		{"cluster", checkCluster},
		{"vault", func(cfg *config.Master) error { return vault.Check(cfg.Map()) }},
		{"metrics_address", func(cfg *config.Master) error { return checkAddress(cfg.MetricsAddress) }},
		{"log_fmt_console", func(cfg *config.Master) error { return logging.CheckFormat(cfg.LogFmtConsole) }},
		{"log_fmt_logfile", func(cfg *config.Master) error { return logging.CheckFormat(cfg.LogFmtLogfile) }},
		{"ssl", func(cfg *config.Master) error { return cli.IdleTLS(cfg.Transport, cfg.Map()) }},
		{"transport_opts", func(cfg *config.Master) error { return checkBranches(cfg) }},
	}
}

// checkCluster checks the option cluster without asking its servers.
func checkCluster(cfg *config.Master) error {
	if cfg.Cluster == nil {
		return nil
	}
	_, err := cluster.Parse(cfg.Cluster)
	return err
}

// validate returns the faults of a configuration, and adds warnings to the report.
func validate(cfg *config.Master, report *config.Report) error {
	var errs []error
	for _, c := range checks() {
		errs = append(errs, report.Judge(c.option, c.validate(cfg)))
	}
	report.Folders("file_roots", cfg.FileRoots)
	report.Folders("pillar_roots", cfg.PillarRoots)
	report.WarnUnused(cfg.Unused(report))
	return errors.Join(errs...)
}

// unknownReturner returns a finding: no returner has this name and the required capability. An
// empty required name needs none.
func unknownReturner(cfg *config.Master, name string, need opener.Capability) error {
	known := opener.Names(need)
	if name == "" || slices.Contains(known, name) || ownReturner(cfg, name, need) {
		return nil
	}
	f := config.NoSuch("returner", name, withOwn(cfg, "returners", known), foreignReturners(),
		"Choose one of them, or keep a master of Salt's own for this one")
	f.Text += ", which this option needs"
	return f
}

// foreignReturners returns the returners that only Salt has (salt/returners).
func foreignReturners() []string {
	return []string{"appoptics_return", "carbon", "cassandra", "cassandra_cql", "couchbase",
		"couchdb", "django", "elasticsearch", "etcd", "highstate",
		"influxdb", "kafka", "librato", "mattermost", "memcache", "mongo", "mongo_future",
		"multi_returner", "nagios_nrdp", "odbc", "postgres_local_cache",
		"pushover", "sentry", "slack", "slack_webhook", "sms", "splunk", "telegram",
		"xmpp", "zabbix"}
}

func checkSinks(cfg *config.Master) error {
	var errs []error
	for i, name := range cfg.EventReturn {
		errs = append(errs, config.Below(config.Entry{Index: i, Value: name}, unknownSink(cfg, name)))
	}
	if len(errs) == 1 { // usually a text instead of a list
		return unknownSink(cfg, cfg.EventReturn[0])
	}
	return errors.Join(errs...)
}

// unknownSink returns a finding: no returner of this name accepts events. A returner that takes
// only job returns gets its own text: Salt's master starts with it, and then logs an error for each
// batch of events.
func unknownSink(cfg *config.Master, name string) error {
	err := unknownReturner(cfg, name, opener.Events)
	f, ok := err.(*config.Finding) //nolint:errorlint // the error itself, not one within
	if !ok {
		return err
	}
	const instead = "A program can take all events: see the engine program, and ext_processes"
	if slices.Contains(foreignReturners(), name) {
		f.Suggestion += ". " + instead
	} else if slices.Contains(returnOnlyReturners(), name) {
		f.Text = "the returner " + name + " accepts job returns but no events, as in Salt"
		f.Suggestion += ". " + instead
	}
	return f
}

// returnOnlyReturners lists the minions' returners that accept no events (docs/returners.md).
func returnOnlyReturners() []string { return []string{"redis", "syslog"} }

// withOwn returns names with those of the files of users' own code, for suggestions.
func withOwn(cfg *config.Master, kind string, names []string) []string {
	return slices.Concat(names, code.Names(cfg.Map(), kind))
}

// checkEngines validates the engines. Only the code itself knows the options of users' own ones.
func checkEngines(cfg *config.Master) error {
	known := engineMakers()
	own := engines.Own("", nil)
	for _, name := range engines.Modules(cfg.Engines) {
		if code.Has(cfg.Map(), "engines", name, known[name] != nil) {
			known[name] = own
		}
	}
	for _, name := range code.Names(cfg.Map(), "engines") { // for suggestions
		known[name] = own
	}
	return engines.Check(cfg.Engines, known)
}

// checkBackends reports unknown names of backends. The others serve their files, as in Salt; having
// none at all is no fault.
func checkBackends(opts *data.Map) error {
	there := []string{roots.Name, minionfs.Name, gitfs.Name}
	names := data.TextsOf(opts.Value("fileserver_backend"))
	var errs, idle []error
	for i, name := range names {
		if name == gitfs.Name && !data.Truth(opts.Value("gitfs_remotes")) {
			idle = append(idle, config.Below(config.Entry{Index: i, Value: name},
				&config.Finding{Text: "gitfs has no repository to serve",
					Suggestion: "set gitfs_remotes: [URL], or remove gitfs here"}))
		}
		if !slices.Contains(there, name) {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: name},
				config.NoSuch("backend of the file server", name, there,
					[]string{"azurefs", "hgfs", "s3fs", "svnfs"})))
		}
	}
	if len(errs) == len(names) {
		return errors.Join(errs...)
	}
	return config.Doubt(errors.Join(append(errs, idle...)...))
}

func checkLogins(cfg *config.Master) error {
	opts := cfg.Map()
	own := func(name string) bool {
		return code.Has(opts, "auth", name, slices.Contains(auth.SystemNames(), name))
	}
	logins := auth.CheckLogins(cfg.ExternalAuth, own, func(name string) error {
		system, err := stdauth.Open(name, opts)
		if checked, ok := system.(interface{ Check() error }); ok && err == nil {
			err = checked.Check()
		}
		return err
	})
	return errors.Join(logins, auth.CheckUseful(cfg.ExternalAuth, calledModules(opts)))
}

// checkSyndics reports that any minion may act as a syndic.
func checkSyndics(cfg *config.Master) error {
	if !cfg.OrderMasters || len(cfg.Syndics) > 0 {
		return nil
	}
	return &config.Finding{Text: "any minion with an accepted key may act as a syndic",
		Suggestion: "name the syndics: syndics: [ID, …]", Doubt: true}
}

// calledModules returns the modules of runners and wheel functions, with users' own.
func calledModules(opts *data.Map) []string {
	names := append(code.Names(opts, "runners"), code.Names(opts, "wheel")...)
	for _, p := range append(stdrunners.Plugins(stdrunners.Needs{}), wheels.Plugins(wheels.Needs{})...) {
		names = append(names, p.Name)
	}
	return names
}

// checkReactions validates the rules of the reactor and reports files that are missing on this
// host. As in Salt, events find nothing there.
func checkReactions(cfg *config.Master) error {
	_, validate := reactor.ParseRules(cfg.Reactor)
	errs := []error{validate}
	entries, _ := cfg.Reactor.([]any)
	for i, entry := range entries {
		rules, _ := reactor.ParseRules([]any{entry}) // parse errors are reported above
		for _, rule := range rules {
			for n, file := range rule.Files {
				step := config.Entry{Index: n, Value: file}
				errs = append(errs, config.Below(config.Entry{Index: i, Value: entry},
					config.Below(rule.Tag, config.Below(step, checkReactionFile(file)))))
			}
		}
	}
	return errors.Join(errs...)
}

// checkReactionFile reports that no file matches a path, which may have wildcards. Files of salt://
// are not checked.
func checkReactionFile(file string) error {
	found, err := filepath.Glob(file)
	if strings.Contains(file, "://") || err == nil && len(found) > 0 {
		return nil
	}
	return &config.Finding{Text: "there is no file " + file,
		Suggestion: "its events have no effect", Doubt: true}
}

// checkGroups validates the definitions of node groups. As in Salt, an invalid one matches nobody.
func checkGroups(groups *data.Map) error {
	var errs []error
	for key, v := range groups.All() {
		name := data.Str(key)
		words, err := match.ExpandNodegroup(name, groups)
		if errors.Is(err, match.ErrUnknownNodegroup) {
			err = config.Expected("a compound target or a list", v,
				fmt.Sprintf("write %s: 'G@os:Debian and web*'", name))
		} else if err == nil {
			if _, err = match.Compile(strings.Join(words, " "), "compound",
				"", match.Options{}); err != nil {
				err = cmp.Or(match.CheckCircular([]string{"N@" + name}, groups), err)
			}
		}
		errs = append(errs, config.Doubt(config.Below(key, err)))
	}
	return errors.Join(errs...)
}

func checkSchedule(cfg *config.Master) error {
	if cfg.Schedule.Len() == 0 {
		return nil
	}
	return schedule.Check(cfg.Schedule,
		cli.Knows(stdrunners.Plugins(stdrunners.Needs{}), cfg.Map()))
}

// checkAddress validates an address to listen on.
func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	const example = "write HOST:PORT, such as 127.0.0.1:9175"
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return config.Expected("an address with a port", address, example)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return &config.Finding{Text: fmt.Sprintf("%q is not a port", port), Suggestion: example}
	}
	return nil
}

func checkBranches(cfg *config.Master) error {
	_, err := additionalBranches(cfg)
	return err
}
