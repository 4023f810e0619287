package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// A Daemon joins a command line and a configuration to a daemon.Daemon.
type Daemon struct {
	Name    string
	Options *DaemonOptions
	Opts    *data.Map // the effective options, with those of the command line
	Report  *config.Report
	Folders []daemon.Folder
	Codes   []daemon.ExitCode
	// Probe tries for --check-config what shows on this host alone; it may be nil. A start finds that out itself.
	Probe func() error
	// Start is that of daemon.Daemon.
	Start func(ctx context.Context, log *logging.Log, settle func() error) (daemon.Role, error)

	log *logging.Log
}

// Serve runs d, in the background where -d asks for it, and returns its exit code. With --check-config it prints the
// effective options and ends.
func (d *Daemon) Serve(ctx context.Context, in Invocation, stdout, stderr io.Writer) int {
	if d.Options.CheckConfig {
		return d.check(stdout, stderr)
	}
	console := stderr
	if code, done := daemon.Init(in.Args, stderr); done {
		return code
	} else if daemon.InContainer() {
		console = stdout
	}
	if daemon.InBackground() {
		console = nil
	}
	if err := d.openLog(console); err != nil {
		fmt.Fprintf(stderr, "%s: %v%s\n", d.Name, err, WhoseRights(err))
		return exitOfLog(err)
	}
	defer d.log.Close()
	life := d.life(in, stderr)
	if console != nil && !life.Background {
		life.Stderr = nil // the log tells it there
	}
	first := life.Background && !daemon.InBackground() // of two processes, which ends when the second is ready
	code := life.Serve(ctx)
	if code == exitOK && !first {
		d.log.Infof("The %s is shut down", d.title())
	}
	return code
}

// A ConfigError is a configuration with which a daemon does not start.
type ConfigError struct {
	Report *config.Report
	Err    error
}

// Error returns the faults.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the faults.
func (e *ConfigError) Unwrap() error { return e.Err }

// Refuse prints why a daemon does not start, after the warnings of its configuration, and returns its exit code.
func Refuse(name string, l *Line, err error, stderr io.Writer) int {
	var wrong *ConfigError
	if errors.As(err, &wrong) {
		opts := data.NewMap()
		l.Merge(opts)
		TellWarnings(stderr, opts, wrong.Report)
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return exitGeneric
}

// check prints the effective options, and fails when the daemon would not start with them.
func (d *Daemon) check(stdout, stderr io.Writer) int {
	for _, w := range d.Report.Warnings {
		fmt.Fprintf(stderr, "[WARNING ] %s\n", w)
	}
	if err := errors.Join(config.Explain(stdout, d.Opts, d.Report), d.faults()); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", d.Name, err)
		return exitGeneric
	}
	return exitOK
}

// faults returns what would keep the daemon from starting, as far as that shows without a change of anything.
func (d *Daemon) faults() error {
	_, who := daemon.LookUp(d.Opts.Text("user"))
	if who != nil {
		who = d.Report.Locate(&config.About{Option: "user", Err: fmt.Errorf("user %q: %w", d.Opts.Text("user"), who)})
	}
	var probed error
	if d.Probe != nil {
		probed = d.Probe()
	}
	s, err := logging.SettingsOf(d.Opts)
	if err != nil {
		return errors.Join(err, who, probed)
	}
	return errors.Join(logging.Check(s), who, probed)
}

// Preface prints what there is to say of a command line before anything else, once for all processes of a daemon.
func Preface(l *Line, stderr io.Writer) {
	if !daemon.InBackground() && !daemon.InContainer() {
		fmt.Fprint(stderr, l.Warnings)
	}
}

// exitOfLog is the exit code where the log cannot be opened (salt/_logging/impl.py, setup_logfile_handler).
func exitOfLog(err error) int {
	const unavailable = 69
	if errors.Is(err, logging.ErrFacility) {
		return unavailable
	}
	return exitGeneric
}

func (d *Daemon) openLog(console io.Writer) error {
	s, err := logging.SettingsOf(d.Opts)
	if err != nil {
		return err
	}
	d.log, err = logging.New(s, logging.Options{Console: console, Program: strings.ReplaceAll(d.Name, "-", "."), PID: os.Getpid()})
	if err != nil {
		if errors.As(err, new(*fs.PathError)) {
			err = &config.About{Option: "log_file", Err: err}
		}
		return d.Report.Locate(err)
	}
	d.log.Hide(config.Secrets(d.Opts)...)
	return nil
}

// life returns what package daemon needs to know of d.
func (d *Daemon) life(in Invocation, stderr io.Writer) *daemon.Daemon {
	return &daemon.Daemon{
		Name: d.Name, Args: in.Args, Background: d.Options.Daemon, PIDFile: d.Opts.Text("pidfile"), User: d.Opts.Text("user"),
		Folders: d.Folders, Files: d.logFiles(), Permissive: data.Truth(d.Opts.Value("permissive_pki_access")),
		Codes: d.Codes, Locate: d.locate, Log: d.log, Reopen: d.log.Reopen, Stderr: stderr,
		Watch: func() []string { return d.Report.Watch }, WatchEvery: d.watchEvery,
		Start: func(ctx context.Context, settle func() error) (daemon.Role, error) {
			d.log.Infof("Setting up the %s", d.title())
			Warn(d.log, d.Report)
			role, err := d.Start(ctx, d.log, settle)
			if errors.Is(err, daemon.ErrNoUser) && !d.logsErrors() {
				fmt.Fprint(stderr, noUser(d.Opts.Text("user")).(*Exit).Stderr) //nolint:errorlint // noUser makes no other
			}
			if err != nil {
				return nil, d.locate(err)
			}
			return &sparing{Role: role, log: d.log}, nil
		},
	}
}

// logsErrors reports whether log_level lets errors through to the console.
func (d *Daemon) logsErrors() bool {
	level, err := logging.ParseLevel(d.Opts.Text("log_level"))
	return err == nil && level <= logging.Error
}

// locate puts the place of the option at fault before an error of the start: user, or the one whose path cannot be had.
func (d *Daemon) locate(err error) error {
	var wrong *daemon.OptionError
	switch {
	case errors.Is(err, daemon.ErrNoUser) || errors.Is(err, daemon.ErrNotRoot):
		err = &config.About{Option: "user", Err: err}
	case errors.As(err, &wrong):
		err = &config.About{Option: wrong.Option, Err: err}
	}
	return d.Report.Locate(err)
}

func (d *Daemon) watchEvery() time.Duration {
	seconds, _ := d.Opts.Value("config_reload_interval").(int64)
	return time.Duration(seconds) * time.Second
}

// title is what Salt calls the program in its log: Salt Master, Salt Minion "web1".
func (d *Daemon) title() string {
	if _, role, _ := strings.Cut(d.Name, "-"); role == "master" {
		return "Salt Master"
	}
	return fmt.Sprintf("Salt Minion \"%s\"", d.Opts.Text("id"))
}

// logFiles are the log files on this host.
func (d *Daemon) logFiles() []string {
	if file := d.Opts.Text("log_file"); !strings.Contains(file, "://") {
		return []string{file}
	}
	return nil
}

// Renew puts a configuration that was read again in force: the log's options, what apply puts in force, and tells what has
// changed and what needs a restart. After an error nothing has changed.
func (d *Daemon) Renew(opts *data.Map, report *config.Report, change config.Change, apply func() error) error {
	if err := d.renewLog(opts, apply); err != nil {
		return err
	}
	for _, w := range report.Warnings {
		if !slices.Contains(d.Report.Warnings, w) {
			d.log.Warn(w)
		}
	}
	d.Opts, d.Report = opts, report
	if len(change.Applied) > 0 {
		d.log.Infof("the configuration was read again; changed: %s", strings.Join(change.Applied, ", "))
	}
	if len(change.Restart) > 0 {
		d.log.Warnf("these options have changed and hold after a restart of %s only: %s", d.Name, strings.Join(change.Restart, ", "))
	}
	return nil
}

// renewLog gives the log its new options, and back the old ones when apply fails.
func (d *Daemon) renewLog(opts *data.Map, apply func() error) error {
	s, err := logging.SettingsOf(opts)
	if err != nil {
		return err
	}
	old, err := logging.SettingsOf(d.Opts)
	if err != nil {
		return err
	}
	d.log.Hide(config.Secrets(opts)...)
	if err := d.log.Apply(s); err != nil {
		return err
	}
	if err := apply(); err != nil {
		return errors.Join(err, d.log.Apply(old))
	}
	return nil
}
