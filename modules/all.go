// Package modules lists the execution modules that are built into a program. The build tag small
// leaves out the modules that a small device can do without; groups.go says how to get them back.
package modules

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// Brought returns the file client parts and renderers that modules use. A program calls it once.
func Brought() render.Brought {
	return render.Brought{Renderers: stdrender.Renderers(), Files: fileclient.Brought{
		Fetchers: fetchers(), Local: local()}}
}

// Plugins returns the modules, in the order in which providers of one name are tried.
func Plugins(b render.Brought) []loader.Plugin {
	return append(core(b), extra()...)
}
