package saltmaster

import (
	"maps"

	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink/standard"
	stdengines "github.com/brineproject/brine/engines/standard"
)

// engineMakers returns all engines of a master by their names in the option engines.
func engineMakers() map[string]engines.Make {
	all := stdengines.Engines()
	maps.Copy(all, standard.Engines())
	return all
}
