package status

import "github.com/brineproject/brine/loader"

// Plugin returns the module status.
func Plugin() loader.Plugin { return loader.Plugin{Name: "status", New: newModule} }
