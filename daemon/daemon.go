// Package daemon implements the life cycle of a long-running program: start, background, dropping
// privileges, service manager notifications, configuration reload, signals and shutdown.
//
// A program fills in a [Daemon] and calls [Daemon.Serve], which does the following in order:
//
//  1. With Background the program starts itself again without a terminal. The first process ends when
//     the second is ready.
//  2. It creates the pid file and locks it. A second start is refused; a file left by a dead process is
//     replaced.
//  3. Start binds ports and then calls settle, which creates the directories, gives them to the user
//     and switches to that user.
//  4. Role.Run works. When it is ready, the service manager is notified and the first process of step 1
//     ends.
//  5. Signals and file changes are handled (see Signals) until a signal or a failure ends Role.Run.
//
// A [Group] runs the parts of a role: it starts them in order, supervises each, and stops them in
// reverse order. A [Command] is a part that runs as a separate program. As process 1 of a
// container, a daemon first becomes a small init ([Init]), which forwards signals and reaps
// orphaned processes.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/sirupsen/logrus"
)

// Exit codes common to all daemons (salt/defaults/exitcodes.py).
const (
	exitOK      = 0
	exitGeneric = 1
)

// A Daemon describes a program that runs until it is told to end.
type Daemon struct {
	Name       string   // name of the program
	Args       []string // command line arguments, for the restart in the background
	Background bool
	PIDFile    string // "" means none
	User       string // user to run as; "" means the user who starts it
	Folders    []Folder
	Files      []string // files written outside of Folders; created, and owned by User
	// directories readable by a group of User keep their group (permissive_pki_access)
	Permissive bool
	Codes      []ExitCode

	// Start acquires resources that only the starting user may acquire, such as ports, calls
	// settle, and opens the rest. It must not change anything on disk before settle.
	Start func(ctx context.Context, settle func() error) (Role, error)

	Log logrus.FieldLogger
	// Reopen reopens the log files.
	Reopen func() error
	// Watch returns the configuration files. A change triggers a reload.
	Watch func() []string
	// WatchEvery returns the interval of checks for changes; 0 means never. It may differ after a
	// reload. A nil function means never.
	WatchEvery func() time.Duration
	// Locate adds the place in the configuration to an error about the pid file; nil returns the
	// error unchanged.
	Locate func(error) error
	// Stderr receives the error that keeps the daemon from starting.
	Stderr io.Writer
}

// A Role is the work of a daemon.
type Role interface {
	// Run works until ctx ends, and calls ready once the daemon is in full operation.
	Run(ctx context.Context, ready func()) error
	// Reload reads the configuration again. After an error the old one stays in effect.
	Reload(ctx context.Context) error
	// Status returns a one-line status.
	Status() string
	// Dump returns the state of queues and parts, for debugging.
	Dump() string
}

// An ExitCode is an error with the exit code of the daemon.
type ExitCode struct {
	Err  error
	Code int
}

// Serve runs d and returns its exit code.
func (d *Daemon) Serve(ctx context.Context) int {
	inBackground := os.Getenv(background) != ""
	if d.Background && !inBackground {
		return d.detach()
	}
	_ = os.Unsetenv(background) // programs started by this one must not inherit it
	_ = os.Unsetenv(underInit)
	limitUmask()
	outliveConsole()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &life{Daemon: d, ctx: ctx, cancel: cancel, notify: newNotifier(), background: inBackground,
		files: newFileWatch(d.Watch), signals: make(chan os.Signal, 8), ready: make(chan struct{})}
	signal.Notify(l.signals, listened()...) // before the pid file makes the process id known
	defer l.release()
	var err error
	if l.pid, err = TakePIDFile(d.PIDFile); err != nil {
		if d.Locate != nil {
			err = d.Locate(err)
		}
		return d.fail(err)
	}
	defer l.pid.Close()
	return l.run()
}

// fail reports why the daemon ends, and returns its exit code.
func (d *Daemon) fail(err error) int {
	d.Log.Errorf("%s: %v", d.Name, err)
	if d.Stderr != nil {
		fmt.Fprintf(d.Stderr, "%s: %v\n", d.Name, err)
	}
	return d.exitCode(err)
}

func (d *Daemon) exitCode(err error) int {
	for _, known := range d.Codes {
		if errors.Is(err, known.Err) {
			return known.Code
		}
	}
	return exitGeneric
}

// settle creates the directories and switches to the user.
func (d *Daemon) settle() error {
	who, err := LookUp(d.User)
	if err == nil {
		err = who.mayBecome()
	}
	if err != nil {
		return fmt.Errorf("user %q: %w", d.User, err)
	}
	for _, f := range d.Folders {
		if err := f.prepare(who, d.Permissive); err != nil {
			return err
		}
	}
	if !who.Other {
		return nil
	}
	for _, file := range d.Files {
		if err := giveFile(file, who); err != nil {
			return err
		}
	}
	if err := who.Become(); err != nil {
		return fmt.Errorf("user %q: %w", d.User, err)
	}
	return nil
}
