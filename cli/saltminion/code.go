package saltminion

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Code is the users' own plug-ins (package cli/code). A small build has none.
type Code interface {
	// Source returns the plug-ins of a kind beside those that are listed; nil for none.
	Source(kind string, env *loader.Env, listed []loader.Plugin) loader.Source
	Renderers() []render.Renderer
	Grains(ctx context.Context, known *data.Map) []*data.Map
	Renew(opts *data.Map) // with the options of a changed configuration
	// Check reports an option of the program under which its plug-ins cannot run.
	Check() error
	Close()
}
