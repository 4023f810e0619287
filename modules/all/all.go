// Package all lists the execution modules that a program is built with. The build tag small leaves out those that a small
// device can do without.
package all

import "github.com/brineproject/brine/loader"

// Plugins returns the modules, in the order in which providers of one name are tried.
func Plugins() []loader.Plugin {
	return append(core(), extra()...)
}
