//go:build unix

package cmd

import "golang.org/x/sys/unix"

// noTerminal keeps a device from becoming the daemon's terminal. A terminal that takes nothing does not hold the daemon up.
const noTerminal = unix.O_NOCTTY | unix.O_NONBLOCK
