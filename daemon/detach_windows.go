package daemon

import "errors"

const background = "BRINE_BACKGROUND"

// detach is not supported on Windows, where only services run in the background.
func (d *Daemon) detach() int {
	return d.fail(errors.New("-d is not for Windows: run it as a service"))
}

func leaveTerminal() error { return nil }

// InBackground always reports false: see detach.
func InBackground() bool { return false }
