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
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	stdengines "github.com/brineproject/brine/engines/standard"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/minionfs"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/reactor"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/schedule"
)

// A check looks at one option and returns findings of package config.
type check struct {
	option string
	wrong  func(cfg *config.Master) error
}

// checks are what a master looks at before it starts, besides the types of options: names of plug-ins that this program has, and
// the shape of options that hold lists and mappings.
func checks() []check {
	return []check{
		{"master_job_cache", func(cfg *config.Master) error { return noReturner(cfg.JobCacheName(), keepsJobs) }},
		{"ext_job_cache", func(cfg *config.Master) error { return noReturner(cfg.ExtJobCache, keepsJobs) }},
		{"event_return", wrongSinks},
		{"fileserver_backend", func(cfg *config.Master) error { return wrongBackends(cfg.Map()) }},
		{"ext_pillar", wrongPillars},
		{"on_demand_ext_pillar", wrongDemands},
		{"pillar_cache_backend", wrongPillarCache},
		{"pillar_source_merging_strategy", wrongStrategy},
		{"renderer", func(cfg *config.Master) error { return wrongPipe(cfg.Map().Text("renderer")) }},
		{"decrypt_pillar_default", func(cfg *config.Master) error { return wrongPipe(cfg.Map().Text("decrypt_pillar_default")) }},
		{"master_tops", wrongTops},
		{"gitfs_remotes", func(cfg *config.Master) error { return gitfs.Check(cfg.Map()) }},
		{"publisher_acl", func(cfg *config.Master) error { return auth.CheckACL(cfg.PublisherACL) }},
		{"publisher_acl_blacklist", func(cfg *config.Master) error { return auth.CheckBlacklist(cfg.PublisherACLBlacklist) }},
		{"external_auth", wrongLogins},
		{"peer", func(cfg *config.Master) error { return auth.CheckPeers(cfg.Peer) }},
		{"peer_run", func(cfg *config.Master) error { return auth.CheckPeers(cfg.PeerRun) }},
		{"mine_get", func(cfg *config.Master) error { return auth.CheckPeers(cfg.MineGet) }},
		{"nodegroups", func(cfg *config.Master) error { return wrongGroups(cfg.Nodegroups) }},
		{"reactor", wrongReactions},
		{"ext_processes", master.CheckPrograms},
		{"engines", func(cfg *config.Master) error { return engines.Check(cfg.Engines, stdengines.Engines()) }},
		{"schedule", wrongSchedule},
		{"metrics_address", func(cfg *config.Master) error { return wrongAddress(cfg.MetricsAddress) }},
		{"log_fmt_console", func(cfg *config.Master) error { return logging.CheckFormat(cfg.LogFmtConsole) }},
		{"log_fmt_logfile", func(cfg *config.Master) error { return logging.CheckFormat(cfg.LogFmtLogfile) }},
		{"ssl", func(cfg *config.Master) error { return cli.IdleTLS(cfg.Transport, cfg.Map()) }},
		{"transport_opts", func(cfg *config.Master) error { return wrongBranches(cfg) }},
	}
}

// wrong says what is wrong in a configuration, and adds to the report what is odd in it.
func wrong(cfg *config.Master, report *config.Report) error {
	var errs []error
	for _, c := range checks() {
		errs = append(errs, report.Judge(c.option, c.wrong(cfg)))
	}
	report.Folders("file_roots", cfg.FileRoots)
	report.Folders("pillar_roots", cfg.PillarRoots)
	report.WarnUnused(cfg.Unused(report))
	return errors.Join(errs...)
}

// noReturner says that there is no returner of a name that has what is needed; "" needs none.
func noReturner(name string, has func(choice) bool) error {
	var there []string
	for _, c := range choices() {
		if has(c) {
			there = append(there, c.name)
		}
	}
	if name == "" || slices.Contains(there, name) {
		return nil
	}
	f := config.NoSuch("returner", name, there, foreignReturners(), "Choose one of them, or keep a master of Salt's own for this one")
	f.Text += ", which this option needs"
	return f
}

// foreignReturners are the returners that only Salt has (salt/returners).
func foreignReturners() []string {
	return []string{"appoptics_return", "carbon", "cassandra", "cassandra_cql", "couchbase", "couchdb", "django", "elasticsearch", "etcd", "highstate",
		"influxdb", "kafka", "librato", "mattermost", "memcache", "mongo", "mongo_future", "multi_returner", "nagios_nrdp", "odbc", "postgres_local_cache",
		"pushover", "sentry", "slack", "slack_webhook", "sms", "splunk", "telegram", "xmpp", "zabbix"}
}

func wrongSinks(cfg *config.Master) error {
	var errs []error
	for i, name := range cfg.EventReturn {
		errs = append(errs, config.Below(config.Entry{Index: i, Value: name}, noSink(name)))
	}
	if len(errs) == 1 { // most often a text
		return noSink(cfg.EventReturn[0])
	}
	return errors.Join(errs...)
}

// noSink says that there is no returner of a name that takes events. One that takes returns alone is told as such: Salt's master starts
// with it, and then logs an error for each batch of events.
func noSink(name string) error {
	err := noReturner(name, takesEvents)
	f, ok := err.(*config.Finding) //nolint:errorlint // the error itself, not one within
	if !ok {
		return err
	}
	const instead = "A program can take all events: see the engine program, and ext_processes"
	if slices.Contains(foreignReturners(), name) {
		f.Suggestion += ". " + instead
	} else if slices.Contains(returnsAlone(), name) {
		f.Text = "the returner " + name + " takes returns of jobs, and no events, in Salt as well"
		f.Suggestion += ". " + instead
	}
	return f
}

// returnsAlone are the returners of minions that take no events (docs/returners.md).
func returnsAlone() []string { return []string{"redis", "syslog"} }

// wrongBackends looks for names of backends that are not there. The others serve their files, as in Salt; none is a fault.
func wrongBackends(opts *data.Map) error {
	there := []string{roots.Name, minionfs.Name, gitfs.Name}
	names := data.TextsOf(opts.Value("fileserver_backend"))
	var errs, idle []error
	for i, name := range names {
		if name == gitfs.Name && !data.Truth(opts.Value("gitfs_remotes")) {
			idle = append(idle, config.Below(config.Entry{Index: i, Value: name}, &config.Finding{Text: "gitfs has no repository to serve",
				Suggestion: "set gitfs_remotes: [URL], or remove gitfs here"}))
		}
		if !slices.Contains(there, name) {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: name}, config.NoSuch("backend of the file server", name, there, []string{"azurefs", "hgfs", "s3fs", "svnfs"})))
		}
	}
	if len(errs) == len(names) {
		return errors.Join(errs...)
	}
	return config.Doubt(errors.Join(append(errs, idle...)...))
}

func wrongLogins(cfg *config.Master) error {
	opts := cfg.Map()
	return auth.CheckLogins(cfg.ExternalAuth, func(name string) error {
		system, err := stdauth.Open(name, opts)
		if checked, ok := system.(interface{ Check() error }); ok && err == nil {
			err = checked.Check()
		}
		return err
	})
}

// wrongReactions looks at the rules of the reactor, and for files of this host that there are not: events find nothing there, as in Salt.
func wrongReactions(cfg *config.Master) error {
	_, wrong := reactor.ParseRules(cfg.Reactor)
	errs := []error{wrong}
	entries, _ := cfg.Reactor.([]any)
	for i, entry := range entries {
		rules, _ := reactor.ParseRules([]any{entry}) // what is wrong is told above
		for _, rule := range rules {
			for n, file := range rule.Files {
				step := config.Entry{Index: n, Value: file}
				errs = append(errs, config.Below(config.Entry{Index: i, Value: entry}, config.Below(rule.Tag, config.Below(step, noReaction(file)))))
			}
		}
	}
	return errors.Join(errs...)
}

// noReaction says that there is no file of a path, which may have wildcards; files of salt:// are not looked for.
func noReaction(file string) error {
	found, err := filepath.Glob(file)
	if strings.Contains(file, "://") || err == nil && len(found) > 0 {
		return nil
	}
	return &config.Finding{Text: "there is no file " + file, Suggestion: "its events are answered by nothing", Doubt: true}
}

// wrongGroups looks at what node groups stand for. One that makes no sense names nobody, as in Salt.
func wrongGroups(groups *data.Map) error {
	var errs []error
	for key, v := range groups.All() {
		name := data.Str(key)
		words, err := match.ExpandNodegroup(name, groups)
		if errors.Is(err, match.ErrUnknownNodegroup) {
			err = config.Expected("a compound target or a list", v, fmt.Sprintf("write %s: 'G@os:Debian and web*'", name))
		} else if err == nil {
			if _, err = match.Compile(strings.Join(words, " "), "compound", "", match.Options{}); err != nil {
				err = cmp.Or(match.CheckCircular([]string{"N@" + name}, groups), err)
			}
		}
		errs = append(errs, config.Doubt(config.Below(key, err)))
	}
	return errors.Join(errs...)
}

func wrongSchedule(cfg *config.Master) error {
	if cfg.Schedule.Len() == 0 {
		return nil
	}
	return schedule.Check(cfg.Schedule, cli.Knows(stdrunners.Plugins(stdrunners.Needs{}), cfg.Map()))
}

// wrongAddress looks at an address to listen on.
func wrongAddress(address string) error {
	if address == "" {
		return nil
	}
	const example = "write HOST:PORT, such as 127.0.0.1:9175"
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return config.Expected("an address with a port", address, example)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return &config.Finding{Text: fmt.Sprintf("%q is no port", port), Suggestion: example}
	}
	return nil
}

func wrongBranches(cfg *config.Master) error {
	_, err := further(cfg)
	return err
}
