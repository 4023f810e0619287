// Package all lists the runners that a master is built with.
package all

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners/test"
)

// Plugins returns the runners, in the order in which providers of one name are tried.
func Plugins(Needs) []loader.Plugin {
	return []loader.Plugin{test.Plugin()}
}
