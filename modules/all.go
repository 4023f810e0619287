// Package modules lists the execution modules that a program is built with. The build tag small leaves out those that a small
// device can do without.
package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// Brought returns what modules get files and render with. A program makes it once.
func Brought() render.Brought {
	return render.Brought{Renderers: stdrender.Renderers(), Files: files()}
}

// Plugins returns the modules, in the order in which providers of one name are tried.
func Plugins(b render.Brought) []loader.Plugin {
	return append(core(b), extra(b)...)
}
