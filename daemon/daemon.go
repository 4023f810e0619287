// Package daemon is the life of a program that runs until it is told to end: how it starts, goes to the background, drops
// its rights, tells its service manager how it is, reads its configuration again, answers signals and stops.
//
// A program fills a [Daemon] and calls [Daemon.Serve]. What then happens, in order:
//
//  1. with Background the program starts itself again without a terminal, and the first process ends when the second answers
//  2. the pid file is taken with a lock of the kernel: a second start is refused, a file that a dead process left is not
//  3. Start binds ports; it calls settle then, which makes the directories, gives them to the user and becomes that user
//  4. Role.Run works. When it is ready the service manager is told, and the first process of 1 ends
//  5. signals and changed files are answered (see Signals) until one of them, or a failure, ends Role.Run
//
// A [Group] runs the parts of a role: in order, each under supervision, stopped in the reverse order. A [Command] is a part
// that is a program of its own. As process 1 of a container a daemon first becomes a small init ([Init]), which
// passes signals on and waits for what nobody else waits for.
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

// Exit codes that do not depend on the daemon (salt/defaults/exitcodes.py).
const (
	exitOK      = 0
	exitGeneric = 1
)

// A Daemon is a program that runs until it is told to end.
type Daemon struct {
	Name       string   // of the program
	Args       []string // of its command line, to start it again in the background
	Background bool
	PIDFile    string // "" is none
	User       string // whom the daemon runs as; "" is who starts it
	Folders    []Folder
	Files      []string // that the daemon writes to outside of Folders; made, and given to User
	Permissive bool     // directories that a group of User may read keep their group (permissive_pki_access)
	Codes      []ExitCode

	// Start takes what only the user who started the program may take, such as ports, calls settle, and opens the rest.
	// Nothing on disk may be changed before settle.
	Start func(ctx context.Context, settle func() error) (Role, error)

	Log logrus.FieldLogger
	// Reopen opens the log files again.
	Reopen func() error
	// Watch returns the files that make up the configuration; one that changes is a reason to reload.
	Watch func() []string
	// WatchEvery is how often they are looked at; 0 is never. It may differ after a reload; nil is never.
	WatchEvery func() time.Duration
	// Locate returns the error of a pid file that cannot be had with the place in the configuration; nil returns it as it is.
	Locate func(error) error
	// Stderr gets what keeps the daemon from starting.
	Stderr io.Writer
}

// A Role is what a daemon does.
type Role interface {
	// Run works until ctx ends, and calls ready when everything answers.
	Run(ctx context.Context, ready func()) error
	// Reload reads the configuration again. An error leaves the old one in force.
	Reload(ctx context.Context) error
	// Status says in a line how the daemon is.
	Status() string
	// Dump tells the state of queues and parts, for a person who looks for a fault.
	Dump() string
}

// An ExitCode is what a daemon exits with for an error.
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
	_ = os.Unsetenv(background) // programs that this one starts are not daemons for it
	_ = os.Unsetenv(underInit)
	limitUmask()
	outliveConsole()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &life{Daemon: d, ctx: ctx, cancel: cancel, notify: newNotifier(), background: inBackground, files: newFileWatch(d.Watch),
		signals: make(chan os.Signal, 8), ready: make(chan struct{})}
	signal.Notify(l.signals, listened()...) // before the pid file tells where to send them
	defer signal.Stop(l.signals)
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

// fail tells why the daemon ends, and returns its exit code.
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

// settle makes the directories and becomes the user.
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
