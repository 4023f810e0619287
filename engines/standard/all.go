// Package standard lists the engines that a master is built with.
package standard

import (
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/program"
	"github.com/brineproject/brine/engines/script"
)

// Engines returns the engines by their names in the option engines.
func Engines() map[string]engines.Make {
	return map[string]engines.Make{"program": program.New, "script": script.New}
}
