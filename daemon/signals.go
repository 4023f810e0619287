package daemon

import (
	"os"
	"runtime"
)

// Signals is what a daemon does on each signal, as operators read it: the name and the effect, in order.
// docs/operations.md shows the same table, and a test holds the two together.
func Signals() [][2]string {
	return [][2]string{
		{"SIGINT", "stops in order; a second one ends at once"},
		{"SIGTERM", "stops in order; a second one ends at once"},
		{"SIGHUP", "reads the configuration again and opens the log files anew"},
		{"SIGUSR1", "writes the state of parts and queues and all goroutines to the log"},
		{"SIGUSR2", "opens the log files anew"},
	}
}

// maxStacks is how much of the goroutines a dump shows, in bytes.
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

// handle does what a signal asks for.
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
