package process

import (
	"slices"
	"strings"
)

// private are the variables that a service manager sets, and those that configure the runtime of
// Go, for this process alone.
var private = []string{
	"CREDENTIALS_DIRECTORY", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
	"INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "MAINPID",
	"MANAGERPID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "NOTIFY_SOCKET",
	"SYSTEMD_EXEC_PID", "WATCHDOG_PID", "WATCHDOG_USEC",
}

// Environment returns the variables for users' own plug-ins: all, as under Salt, without those that
// a service manager or Brine set for the daemon alone. all has the form of [os.Environ] and stays
// unchanged.
func Environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(private, name) || strings.HasPrefix(name, "BRINE_")
	})
}
