// Package all lists the wheel modules, by which operators manage a master.
package all

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

// Needs are what wheel modules work on. A need may be nil: the modules that cannot do without it say so.
type Needs struct {
	Keys      *pki.Dir                 // the master's own keys and those of minions
	Connected func() ([]string, error) // ids of the minions that hold a connection to the master now, sorted
}

// Plugins returns the wheel modules.
func Plugins(Needs) []loader.Plugin { return nil }
