package user

import "github.com/brineproject/brine/loader"

// Plugin returns the module user.
func Plugin() loader.Plugin { return loader.Plugin{Name: "user", File: "useradd", New: newModule} }
