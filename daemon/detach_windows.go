package daemon

import "errors"

const background = "BRINE_BACKGROUND"

// detach refuses: on Windows services run in the background, not programs.
func (d *Daemon) detach() int {
	return d.fail(errors.New("-d is not for Windows: run it as a service"))
}

func leaveTerminal() error { return nil }

// InBackground reports whether this process was started by one with Background set; on Windows none is.
func InBackground() bool { return false }
