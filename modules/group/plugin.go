package group

import "github.com/brineproject/brine/loader"

// Plugin returns the module group.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "group", File: "groupadd",
		New: newModule}
}
