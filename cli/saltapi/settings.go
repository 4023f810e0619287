package saltapi

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/serve"
)

// A loaded configuration.
type loaded struct {
	cfg      *config.Master
	settings *netapi.Settings
	report   *config.Report
}

// load reads the configuration of the master and checks what concerns this program.
func load(o *cli.APIOptions, in cli.Invocation) (*loaded, error) {
	cfg, report, err := config.LoadClient(o.ConfigDir, in.Env)
	if err != nil {
		return nil, &cli.ConfigError{Report: report, Err: err}
	}
	opts := cfg.Map()
	if o.Console {
		opts.Set("console", true)
	}
	settings, findings := netapi.ReadSettings(opts)
	var faults []error
	for _, f := range findings {
		option, inner := data.Str(f.Path[0]), *f
		inner.Path = f.Path[1:]
		faults = append(faults, report.Judge(option, &inner))
	}
	if logins, _ := opts.Value("external_auth").(*data.Map); logins.Len() == 0 {
		faults = append(faults, report.Judge("external_auth", &config.Finding{Doubt: true,
			Text:       "is not set, so that nobody can log in",
			Suggestion: "write external_auth: {pam: {NAME: ['.*']}}"}))
	}
	faults = append(faults, report.Judge("external_auth", checkLogins(cfg.ExternalAuth)))
	if err := errors.Join(faults...); err != nil {
		return nil, &cli.ConfigError{Report: report, Err: err}
	}
	rename(report)
	return &loaded{cfg, settings, report}, nil
}

// checkLogins reports errors in external_auth as far as they can be told without the plug-ins of the
// master, which checks all of it. A name that is far from those of Brine's systems may be users' own.
func checkLogins(logins *data.Map) error {
	known := auth.SystemNames()
	own := func(name string) bool {
		return !slices.Contains(known, name) && !slices.Contains(auth.ForeignSystems(), name) && config.Nearest(name, known) == ""
	}
	return auth.CheckLogins(logins, own, func(string) error { return nil })
}

// rename makes messages about the log and the pid file name the places of salt-api's options.
func rename(report *config.Report) {
	for common, own := range map[string]string{"log_file": "api_logfile", "pidfile": "api_pidfile"} {
		delete(report.Sources, common)
		if at, ok := report.Sources[own]; ok {
			report.Sources[common] = at
		}
	}
}

// options returns all options with the command line's, and with salt-api's log and pid file as those
// of the daemon (salt.config.api_config).
func options(o *cli.APIOptions, cfg *config.Master) *data.Map {
	opts := cfg.Map()
	opts.Set("pidfile", opts.Value("api_pidfile"))
	o.Merge(opts)
	opts.Set("log_file", opts.Value("api_logfile"))
	return opts
}

// A section is one door with the name of its section.
type section struct {
	name string
	door *netapi.Door
}

// sections returns the doors that are to be opened.
func sections(s *netapi.Settings) []section {
	return slices.DeleteFunc([]section{{"rest_cherrypy", s.Cherrypy}, {"rest_tornado", s.Tornado}},
		func(s section) bool { return s.door == nil })
}

// logFiles returns the log files of the doors.
func logFiles(s *netapi.Settings) []string {
	var files []string
	for _, one := range sections(s) {
		files = append(files, one.door.AccessLog, one.door.ErrorLog)
	}
	return slices.DeleteFunc(files, func(name string) bool { return name == "" })
}

// probe tests what depends on this host: the addresses and the certificates.
func probe(ctx context.Context, l *loaded) error {
	var errs []error
	for _, one := range sections(l.settings) {
		errs = append(errs, l.report.Judge(one.name, serve.CheckTLS(one.door)), l.report.Judge(one.name, checkHost(ctx, one.door)))
	}
	return errors.Join(errs...)
}

func checkHost(ctx context.Context, d *netapi.Door) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(strings.Trim(d.Host, "[]"), "0"))
	if err != nil {
		return &config.Finding{Path: []any{"host"}, Text: d.Host + " is no address of this host: " + err.Error()}
	}
	return l.Close()
}

// restarts reports whether a change of an option needs a restart of salt-api. Most options of a
// master do not concern it, and those of the log apply at once.
func restarts(option string) bool {
	for _, prefix := range []string{"rest_", "netapi_", "api_", "token_", "tcp_master_"} {
		if strings.HasPrefix(option, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"external_auth", "permissive_acl", "keep_acl_in_token", "console", "timeout",
		"gather_job_timeout", "interface", "ret_port", "transport", "ssl", "sock_dir", "ipc_mode", "cachedir", "user",
		"hash_type", "config_reload_interval"}, option)
}
