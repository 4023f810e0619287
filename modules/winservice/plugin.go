// Package winservice is Salt's module service for Windows: it asks the service manager
// (salt/modules/win_service.py and salt/utils/win_service.py).
//
// Differences from Salt: restart of salt-minion is left to the program net in a process of its own,
// and not to a scheduled task. A password of an account is never returned, also not as a mask.
package winservice

import "github.com/brineproject/brine/loader"

// Plugin returns the module service for Windows.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "service", File: "win_service", New: newModule}
}
