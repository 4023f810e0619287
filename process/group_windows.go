package process

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

const terminate = terminateSignal(0)

// terminateSignal represents a request to end, for which Windows has no signal.
type terminateSignal int

func (terminateSignal) String() string { return "terminate" }
func (terminateSignal) Signal()        {}

func setGroup(*exec.Cmd) {}

// A group is a job object with a program and its descendants, or only the program if no job object
// can be made.
type group struct {
	process *os.Process
	job     windows.Handle
}

func newGroup(cmd *exec.Cmd) *group {
	g := &group{process: cmd.Process}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false,
		uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, p)
		_ = windows.CloseHandle(p)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

// signal ends the members, whatever the signal. It never reports that there are none: a handle
// cannot be reused.
func (g *group) signal(os.Signal) (gone bool) {
	if g.job == 0 {
		_ = g.process.Kill()
		return false
	}
	_ = windows.TerminateJobObject(g.job, 1)
	return false
}

func (g *group) empty() bool { return false }

func (g *group) close() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
	}
}

// readOn does nothing: whatever a service started and left behind writes to a closed pipe.
func readOn(*os.File) error { return nil }
