// Package modules lists the execution modules that are built into a program. The build tag small
// leaves out groups of modules that a small device may do without; a further tag for each group
// brings it back.
package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// Brought returns the file client parts and renderers that modules use. A program calls it once.
func Brought() render.Brought {
	return render.Brought{Renderers: stdrender.Renderers(), Files: files()}
}

// Plugins returns the modules, in the order in which providers of one name are tried: those of
// single distributions first.
func Plugins(b render.Brought) []loader.Plugin {
	return append(extra(), core(b)...)
}
