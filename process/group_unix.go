//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

const terminate = syscall.SIGTERM

// setGroup makes cmd the leader of a new session, and thereby of a process group.
func setGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = false
	cmd.SysProcAttr.Setsid = true
}

// A group is the process group of a program.
type group struct{ id int }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd.Process.Pid} }

// signal sends sig to the members, and reports whether there are none.
func (g *group) signal(sig os.Signal) (gone bool) {
	number, ok := sig.(syscall.Signal)
	return ok && errors.Is(syscall.Kill(-g.id, number), syscall.ESRCH)
}

func (g *group) empty() bool { return g.signal(syscall.Signal(0)) }

func (g *group) close() {}

// readOn starts a process that reads a pipe to its end and drops the data.
func readOn(r *os.File) error {
	cmd := exec.Command("cat")
	if cmd.Err != nil { // no PATH
		cmd = exec.Command("/bin/cat")
	}
	cmd.Stdin, cmd.Dir = r, "/"
	return Start(cmd)
}
