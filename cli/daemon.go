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
	Opts    *data.Map // the effective options, including the command line's
	Report  *config.Report
	Folders []daemon.Folder
	Files   []string // further files that it writes, outside of Folders
	Codes   []daemon.ExitCode
	// Probe tests for --check-config what depends on this host; it may be nil. A normal start does
	// not call it, because starting finds the same errors.
	Probe func() error
	// Start has the meaning of daemon.Daemon's field.
	Start func(ctx context.Context, log *logging.Log, ready func() error) (daemon.Role, error)

	log *logging.Log
}

// Serve runs d, in the background with -d, and returns its exit code. With --check-config it prints
// the effective options and ends.
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
		fmt.Fprintf(stderr, "%s: %v%s\n", d.Name, err, RightsHint(err))
		return exitOfLog(err)
	}
	defer d.log.Close()
	life := d.life(in, stderr)
	if console != nil && !life.Background {
		life.Stderr = nil // the log reports it there
	}
	if life.Background && !daemon.InBackground() {
		PrintWarnings(stderr, d.Opts, d.Report) // the log's are in its file alone
	}
	// the first of two processes, which ends when the second is ready
	first := life.Background && !daemon.InBackground()
	code := life.Serve(ctx)
	if code == exitOK && !first {
		d.log.Infof("The %s is shut down", d.title())
	}
	return code
}

// A ConfigError is a configuration that keeps a daemon from starting.
type ConfigError struct {
	Report *config.Report
	Err    error
}

// Error returns the text of the faults.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the faults.
func (e *ConfigError) Unwrap() error { return e.Err }

// Refuse prints the warnings of a configuration and why a daemon does not start. It returns the
// exit code.
func Refuse(name string, l *Line, err error, stderr io.Writer) int {
	var wrong *ConfigError
	if errors.As(err, &wrong) {
		opts := data.NewMap()
		l.Merge(opts)
		PrintWarnings(stderr, opts, wrong.Report)
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return exitGeneric
}

// check prints the effective options, and fails if the daemon would not start with them.
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

// faults returns what would keep the daemon from starting, as far as it can tell without changing
// anything.
func (d *Daemon) faults() error {
	_, who := daemon.LookUp(d.Opts.Text("user"))
	if who != nil {
		who = d.Report.Locate(&config.About{Option: "user",
			Err: fmt.Errorf("user %q: %w", d.Opts.Text("user"), who)})
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

// Preface prints the warnings and the preface of a command line, once for all processes of a
// daemon.
func Preface(l *Line, stderr io.Writer) {
	if !daemon.InBackground() && !daemon.InContainer() {
		fmt.Fprint(stderr, l.Warnings)
	}
}

// exitOfLog returns the exit code for a log that cannot be opened (salt/_logging/impl.py,
// setup_logfile_handler).
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
	d.log, err = logging.New(s, logging.Options{Console: console,
		Program: strings.ReplaceAll(d.Name, "-", "."), PID: os.Getpid()})
	if err != nil {
		if errors.As(err, new(*fs.PathError)) {
			err = &config.About{Option: "log_file", Err: err}
		}
		return d.Report.Locate(err)
	}
	d.log.Hide(config.Secrets(d.Opts)...)
	return nil
}

// life returns the daemon.Daemon that runs d.
func (d *Daemon) life(in Invocation, stderr io.Writer) *daemon.Daemon {
	return &daemon.Daemon{
		Name: d.Name, Args: in.Args, Background: d.Options.Daemon, PIDFile: d.Opts.Text("pidfile"),
		User: d.Opts.Text("user"), Folders: d.Folders, Files: d.logFiles(),
		Permissive: data.Truth(d.Opts.Value("permissive_pki_access")),
		Codes:      d.Codes, Locate: d.locate, Log: d.log, Reopen: d.log.Reopen, Stderr: stderr,
		Watch: func() []string { return d.Report.Watch }, WatchEvery: d.watchEvery,
		Start: func(ctx context.Context, ready func() error) (daemon.Role, error) {
			d.log.Infof("Setting up the %s", d.title())
			Warn(d.log, d.Report)
			role, err := d.Start(ctx, d.log, ready)
			if errors.Is(err, daemon.ErrNoUser) && !d.logsErrors() {
				fmt.Fprint(stderr, noUser(d.Opts.Text("user")).(*Exit).Stderr) //nolint:errorlint // noUser makes no other
			}
			if err != nil {
				return nil, d.locate(err)
			}
			return &memoryReleaser{Role: role, log: d.log}, nil
		},
	}
}

// logsErrors reports whether log_level lets errors through to the console.
func (d *Daemon) logsErrors() bool {
	level, err := logging.ParseLevel(d.Opts.Text("log_level"))
	return err == nil && level <= logging.Error
}

// locate prefixes a startup error with the place of the option at fault: user, or the option with
// the unusable path.
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

// title returns Salt's name for the program in its log: Salt Master, Salt Minion "web1".
func (d *Daemon) title() string {
	switch d.Name {
	case "salt-master":
		return "Salt Master"
	case "salt-api":
		return "Salt API"
	case "salt-syndic":
		return fmt.Sprintf("Salt Syndic \"%s\"", d.Opts.Text("id"))
	}
	return fmt.Sprintf("Salt Minion \"%s\"", d.Opts.Text("id"))
}

// logFiles returns the files on this host that the daemon writes besides those in Folders.
func (d *Daemon) logFiles() []string {
	files := slices.Clone(d.Files)
	if file := d.Opts.Text("log_file"); !strings.Contains(file, "://") {
		files = append(files, file)
	}
	return files
}

// Renew applies a configuration that was read again: the log's options first, then those that apply
// sets. It logs which options changed and which need a restart. After an error nothing has changed.
func (d *Daemon) Renew(
	opts *data.Map, report *config.Report, change config.Change, apply func() error,
) error {
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
		d.log.Infof("configuration reloaded; changed options: %s",
			strings.Join(change.Applied, ", "))
	}
	if len(change.Restart) > 0 {
		d.log.Warnf("changed options that need a restart of %s: %s", d.Name,
			strings.Join(change.Restart, ", "))
	}
	return nil
}

// renewLog applies the log's new options, and restores the old ones if apply fails.
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
