// Package all lists the renderers.
package all

import (
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/saltjinja"
)

// Renderers returns a new list of all renderers. Those who render much share one list, and with it the templates that were
// parsed.
func Renderers() []render.Renderer {
	return []render.Renderer{
		saltjinja.New(), render.YAML{}, render.JSON{}, render.TOML{}, render.Text{},
		render.GPG{}, render.NaCl{}, render.Pass{}, render.StateConf{},
	}
}
