package shadow

import "github.com/brineproject/brine/loader"

// Plugin returns the module shadow.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "shadow", File: "linux_shadow", New: newModule}
}
