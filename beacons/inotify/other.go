//go:build !linux

package inotify

import (
	"errors"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/loader"
)

var errLinux = errors.New("inotify is only available on Linux")

// Plugin returns the beacon inotify, which does not work here.
func Plugin() loader.Plugin { return none("inotify") }

// Watchdog returns the beacon watchdog, which does not work here.
func Watchdog() loader.Plugin { return none("watchdog") }

func none(name string) loader.Plugin {
	return beacons.Plugin(name, "", func(*loader.Env) (beacons.Beacon, error) { return nil, errLinux })
}
