// Package standard lists the renderers that a program is built with. The build tag small leaves out
// those that a small device may not need; the tags formats and security bring them back.
package standard

import (
	"slices"

	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/saltjinja"
)

// Renderers returns a new list of all renderers. Programs that render much should share one list,
// and with it the parsed templates.
func Renderers() []render.Renderer {
	return slices.Concat([]render.Renderer{saltjinja.New(), render.YAML{}, render.YAMLEX{},
		render.JSON{}, render.Text{}, render.StateConf{}}, formats(), security())
}
