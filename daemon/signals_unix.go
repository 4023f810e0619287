//go:build unix

package daemon

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// outliveConsole keeps the daemon alive if it writes to a console that has gone. SIGPIPE is caught
// rather than ignored, so that child processes still end by it.
func outliveConsole() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func listened() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2}
}

func actionOf(sig os.Signal) action {
	switch sig {
	case syscall.SIGHUP:
		return actReload
	case syscall.SIGUSR1:
		return actDump
	case syscall.SIGUSR2:
		return actReopen
	}
	return actStop
}

func signalName(sig os.Signal) string {
	if s, ok := sig.(syscall.Signal); ok {
		return unix.SignalName(s)
	}
	return sig.String()
}

// limitUmask ensures that files of the daemon are not writable by others, whatever umask it was
// started with.
func limitUmask() {
	old := unix.Umask(0o022)
	unix.Umask(old | 0o022)
}
