package cli

import (
	"fmt"
	"io"
	"os"
)

// stopSignals are those that end a daemon.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// detach refuses: on Windows services run in the background, not programs.
func (d *Daemon) detach(_ Invocation, stderr io.Writer) int {
	fmt.Fprintf(stderr, "%s: -d is not for Windows: run it as a service\n", d.Name)
	return exitGeneric
}

// leaveTerminal does nothing: see detach.
func leaveTerminal() error { return nil }

// becomeUser does nothing: a service is given its user when it is installed.
func becomeUser(string, []string, []string) error { return nil }
