package process

import (
	"slices"
	"strings"
)

// PluginEnv returns the variables of an environment that the code of users gets: all, as under Salt,
// but those that a service manager or Brine's own programs set for the daemon alone.
func PluginEnv(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{
			"CREDENTIALS_DIRECTORY", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
			"INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID",
			"MAINPID", "MANAGERPID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
			"NOTIFY_SOCKET", "SYSTEMD_EXEC_PID", "WATCHDOG_PID", "WATCHDOG_USEC",
		}, name) || strings.HasPrefix(name, "BRINE_")
	})
}
