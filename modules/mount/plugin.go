package mount

import "github.com/brineproject/brine/loader"

// Plugin returns the module mount.
func Plugin() loader.Plugin { return loader.Plugin{Name: "mount", New: newModule} }
