package saltjinja

import (
	"context"

	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render"
)

// A Renderer renders Jinja as Salt does. Several goroutines and engines may share it.
type Renderer struct {
	cache *jinja.Cache
}

// New returns the renderer jinja, which keeps parsed templates for all that share it.
func New() *Renderer { return &Renderer{cache: jinja.NewCache(4096, 64<<20)} }

// Name implements render.Renderer.
func (*Renderer) Name() string { return "jinja" }

// Render implements render.Renderer: it returns text.
func (r *Renderer) Render(ctx context.Context, s *render.Step) (any, error) {
	return "", nil
}
