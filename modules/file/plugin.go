package file

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module file. It renders templates with b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "file",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}
