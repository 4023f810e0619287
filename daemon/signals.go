package daemon

import (
	"os"
	"runtime"
)

// Signals returns the table of signals for operators: name and effect, in order. docs/operations.md
// contains the same table, which a test verifies.
func Signals() [][2]string {
	return [][2]string{
		{"SIGINT", "stops in order"},
		{"SIGTERM", "stops in order"},
		{"SIGHUP", "reads the configuration again and opens the log files anew"},
		{"SIGUSR1", "writes the state of parts and queues and all goroutines to the log"},
		{"SIGUSR2", "opens the log files anew"},
	}
}

// maxStacks is the maximum size of goroutine stacks in a dump, in bytes.
const maxStacks = 1 << 20

// stacks returns the stacks of all goroutines.
func stacks() []byte {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) || len(buf) >= maxStacks {
			return buf[:n]
		}
		buf = make([]byte, 4*len(buf))
	}
}

// handle handles a signal.
func (l *life) handle(sig os.Signal) {
	switch actionOf(sig) {
	case actStop:
		l.stop(sig)
	case actReload:
		l.Log.Infof("%s: received SIGHUP, reading the configuration again", l.Name)
		l.reload()
	case actDump:
		l.dump()
	case actReopen:
		l.reopen()
	}
}

type action int

const (
	actStop action = iota
	actReload
	actDump
	actReopen
)
