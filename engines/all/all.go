// Package all lists the engines that a master is built with.
package all

import (
	"github.com/brineproject/brine/engine"
	"github.com/brineproject/brine/engines/program"
	"github.com/brineproject/brine/engines/script"
)

// Engines returns the engines by their names in the option engines.
func Engines() map[string]engine.Make {
	return map[string]engine.Make{"program": program.New, "script": script.New}
}
