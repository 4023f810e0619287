package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/logging"
)

// A Daemon is a program that runs until it is told to end.
type Daemon struct {
	Name    string
	Options *DaemonOptions
	PIDFile string
	User    string   // whom the daemon runs as (user); "" is who starts it
	Folders []string // that it writes to, and that are given to User
	Log     logging.Settings
	Codes   []ExitCode // of errors that have one of their own
	// Start opens everything and returns what then runs until its context ends.
	Start func(ctx context.Context, log *logrus.Logger) (run func(context.Context) error, err error)

	console io.Writer // nil in the background
}

// An ExitCode is what a daemon exits with for an error (salt/defaults/exitcodes.py).
type ExitCode struct {
	Err  error
	Code int
}

// background is set in the environment of the process that goes to the background.
const background = "BRINE_BACKGROUND"

// Serve runs d, in the background where -d asks for it, and returns its exit code.
func (d *Daemon) Serve(ctx context.Context, in Invocation, stderr io.Writer) int {
	inBackground := in.Env(background) != ""
	if d.Options.Daemon && !inBackground {
		return d.detach(in, stderr)
	}
	_ = os.Unsetenv(background) // programs that this one starts are not daemons for it
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	if !inBackground {
		d.console = stderr
	}
	log, err := logging.New(d.Log, logging.Options{Console: d.console, Program: strings.ReplaceAll(d.Name, "-", "."), PID: os.Getpid()})
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", d.Name, err)
		return exitGeneric
	}
	defer log.Close()
	if err := becomeUser(d.User, d.Folders, []string{d.Log.File, d.PIDFile}); err != nil {
		return d.fail(log.Logger, stderr, fmt.Errorf("user: %w", err))
	}
	run, err := d.Start(ctx, log.Logger)
	if err != nil {
		return d.fail(log.Logger, stderr, err)
	}
	if err := writePidFile(d.PIDFile); err != nil {
		log.Error(err)
	}
	defer removePidFile(d.PIDFile)
	if inBackground {
		if err := leaveTerminal(); err != nil {
			log.WithError(err).Error("leave the terminal")
		}
	}
	if err := run(ctx); err != nil {
		return d.fail(log.Logger, stderr, err)
	}
	return exitOK
}

// fail tells why the daemon ends, and returns its exit code.
func (d *Daemon) fail(log *logrus.Logger, stderr io.Writer, err error) int {
	log.Errorf("%s: %v", d.Name, err)
	if d.console == nil {
		fmt.Fprintf(stderr, "%s: %v\n", d.Name, err)
	}
	return d.exitCode(err)
}

// writePidFile tells the world which process this is.
func writePidFile(file string) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("pidfile: %w", err)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return fmt.Errorf("pidfile: %w", err)
	}
	return nil
}

// removePidFile removes a pid file that is still this process's.
func removePidFile(file string) {
	if text, err := os.ReadFile(file); err == nil && string(text) == strconv.Itoa(os.Getpid()) {
		_ = os.Remove(file) // a stale one does no harm
	}
}

// exitCode returns the exit code for the end of the daemon.
func (d *Daemon) exitCode(err error) int {
	for _, known := range d.Codes {
		if errors.Is(err, known.Err) {
			return known.Code
		}
	}
	return exitGeneric
}
