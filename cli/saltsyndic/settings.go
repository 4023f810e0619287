package saltsyndic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/logging"
)

// A loaded configuration.
type loaded struct {
	cfg    *config.Syndic
	report *config.Report
}

// load reads the configurations of the master and of the minion, and checks what concerns this
// program. The error is a *cli.ConfigError.
func load(ctx context.Context, o *cli.SyndicOptions, in cli.Invocation) (*loaded, error) {
	cfg, report, err := config.LoadSyndic(o.ConfigDir, in.Env)
	if err == nil {
		err = validate(ctx, cfg, report)
	}
	if err != nil {
		return nil, &cli.ConfigError{Report: report, Err: err}
	}
	rename(report)
	return &loaded{cfg, report}, nil
}

// validate returns the faults of a configuration besides the types of options, and adds warnings to
// the report.
func validate(ctx context.Context, cfg *config.Syndic, report *config.Report) error {
	unused := slices.DeleteFunc(cfg.Master.Unused(report),
		func(u config.Unused) bool { return !strings.HasPrefix(u.Name, "syndic_") })
	report.WarnUnused(unused)
	return errors.Join(
		report.Judge("id_function", checkID(cfg.Minion)),
		report.Judge("syndic_master", checkAbove(ctx, cfg, report)),
		report.Judge("syndic_user", checkUser(cfg.Master)),
		report.Judge("syndic_failover", word("value", cfg.Master.SyndicFailover, "random", "ordered")),
		report.Judge("syndic_mode", word("mode", cfg.Master.SyndicMode, "sync", "cluster")),
		report.Judge("transport", checkTransports(cfg)),
		report.Judge("log_fmt_console", logging.CheckFormat(cfg.Master.LogFmtConsole)),
		report.Judge("log_fmt_logfile", logging.CheckFormat(cfg.Master.LogFmtLogfile)),
	)
}

// checkID reports that a function determines the id. Only a minion has its modules.
func checkID(minion *config.Minion) error {
	fun, _, err := minion.IDFunction()
	if err != nil || fun == "" {
		return err
	}
	return &config.Finding{Text: fmt.Sprintf("salt-syndic has no modules and cannot call %s", fun),
		Suggestion: "write id: ID, with the id that the minion has"}
}

// checkUser reports a user who cannot read the key file of the master's user.
func checkUser(master *config.Master) error {
	name := master.Map().Text("syndic_user")
	if name == "" || name == master.User || name == "root" {
		return nil
	}
	return &config.Finding{Text: fmt.Sprintf("%s is not the user of the master of this host, %s, whose files "+
		"salt-syndic needs", name, master.User), Suggestion: "remove the option"}
}

// word reports a value that is none of those there are. An empty one stands for the default.
func word(kind, value string, there ...string) error {
	if value == "" || slices.Contains(there, value) {
		return nil
	}
	return config.NoSuch(kind, value, there, nil)
}

// checkTransports warns if the two configurations differ: the minion's counts for the masters above,
// and the master's for the master below.
func checkTransports(cfg *config.Syndic) error {
	above, below := cfg.Minion.Transport, cfg.Master.Transport
	if above == below {
		return nil
	}
	return &config.Finding{Doubt: true,
		Text: fmt.Sprintf("is %s for the master of this host, and %s for the masters above, "+
			"which the minion's configuration says", below, above),
		Suggestion: fmt.Sprintf("if that is not meant, write transport: %s in both files", below)}
}

// rename makes messages about the log, the pid file and the user name the places of the syndic's
// options.
func rename(report *config.Report) {
	for common, own := range map[string]string{"log_file": "syndic_log_file", "pidfile": "syndic_pidfile"} {
		delete(report.Sources, common)
		if at, ok := report.Sources[own]; ok {
			report.Sources[common] = at
		}
	}
	if at, ok := report.Sources["syndic_user"]; ok {
		report.Sources["user"] = at
	}
}

// change returns which of the changed options of master and minion concern a syndic. Those of the log
// apply at once, and the others need a restart.
func change(master, minion config.Change) config.Change {
	var c config.Change
	for _, name := range slices.Concat(master.Applied, master.Restart) {
		switch {
		case strings.HasPrefix(name, "log_"):
			c.Applied = append(c.Applied, name)
		case ofMaster(name):
			c.Restart = append(c.Restart, name)
		}
	}
	for _, name := range slices.Concat(minion.Applied, minion.Restart) {
		if ofMinion(name) && !slices.Contains(c.Restart, name) {
			c.Restart = append(c.Restart, name)
		}
	}
	slices.Sort(c.Applied)
	slices.Sort(c.Restart)
	return c
}

// ofMaster reports whether a syndic reads an option of the master.
func ofMaster(name string) bool {
	return strings.HasPrefix(name, "syndic_") || strings.HasPrefix(name, "tcp_master_") ||
		slices.Contains([]string{"interface", "ret_port", "transport", "ssl", "sock_dir", "ipc_mode", "cachedir",
			"pki_dir", "user", "timeout", "hash_type", "master_id", "master_job_cache", "ext_job_cache",
			"max_event_size", "config_reload_interval"}, name)
}

// ofMinion reports whether a syndic reads an option of the minion.
func ofMinion(name string) bool {
	for _, prefix := range []string{"acceptance_wait_", "recon_", "auth_", "syndic_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"id", "pki_dir", "master_port", "publish_port", "master_finger",
		"master_uri_format", "transport", "ssl", "zmq_filtering", "minion_sign_messages",
		"enable_legacy_startup_events", "keysize"}, name)
}
