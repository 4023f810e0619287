package render

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
)

// Brought is what a program brings along to render with. Plug-ins of one program share it, and with it the templates that
// its renderers have parsed.
type Brought struct {
	Renderers []Renderer         // see package render/standard
	Files     fileclient.Brought // to get with what templates import
}

// ForEnv returns an engine for a plug-in, with the options, grains, pillar and functions of env, and the client that its
// files come from. Both see changes of what env lends; a plug-in holds on to them. The error is that of New or of
// fileclient.ForEnv: where there is no master and no file server, nothing renders.
func ForEnv(env *loader.Env, b Brought) (*Engine, *fileclient.Client, error) {
	client, err := fileclient.ForEnv(env, b.Files)
	if err != nil {
		return nil, nil, err
	}
	e, err := New(Options{Env: env, Files: Client(client), Renderers: b.Renderers})
	return e, client, err
}
