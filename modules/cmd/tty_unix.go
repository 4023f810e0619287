//go:build unix

package cmd

import "golang.org/x/sys/unix"

// noTerminal keeps a device from becoming the daemon's terminal, and keeps a blocked terminal from
// blocking the daemon.
const noTerminal = unix.O_NOCTTY | unix.O_NONBLOCK
