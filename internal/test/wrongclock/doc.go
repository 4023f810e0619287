// Package wrongclock starts processes whose clock of the day is off, for tests.
//
// Go programs read the clock through code of the kernel that is mapped into each process, the vDSO.
// Start lets the process stand still at its exec, and writes other code over the functions there, by
// the way of a debugger. The monotonic clock runs on as it is. Times that the kernel itself gives, such
// as those of files, stay right, too, and children have a right clock.
package wrongclock

import (
	"errors"
	"os/exec"
	"time"
)

// ErrRefused is wrapped by errors that say that the system does not let a process be changed.
var ErrRefused = errors.New("the system does not allow a wrong clock")

// Allowed returns an error that wraps ErrRefused if the system does not let processes have a wrong clock.
func Allowed() error {
	cmd := exec.Command("cat") // it lives until its input ends
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := Start(cmd, time.Minute)
	if err != nil {
		return err
	}
	err = c.Set(0)
	return errors.Join(err, in.Close(), cmd.Wait())
}
