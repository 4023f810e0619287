package ps

import "github.com/brineproject/brine/loader"

// Plugin returns the module ps.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ps", New: newModule} }
