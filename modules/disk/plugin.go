package disk

import "github.com/brineproject/brine/loader"

// Plugin returns the module disk.
func Plugin() loader.Plugin { return loader.Plugin{Name: "disk", New: newModule} }
