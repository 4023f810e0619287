package render

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
)

// Brought is the optional parts that a program includes for rendering. The plug-ins of one program
// share it, and with it the templates that its renderers have parsed.
type Brought struct {
	Renderers []Renderer         // see package render/standard
	Files     fileclient.Brought // to fetch imported templates
}

// ForEnv returns an engine for a plug-in, with the options, grains, pillar and functions of env,
// and the client that its files come from. Both see later changes of env, so a plug-in should keep
// them. The error is that of New or of fileclient.ForEnv: without a master or a file server,
// nothing renders.
func ForEnv(env *loader.Env, b Brought) (*Engine, *fileclient.Client, error) {
	client, err := fileclient.ForEnv(env, b.Files)
	if err != nil {
		return nil, nil, err
	}
	e, err := New(Options{Env: env, Files: Client(client), Renderers: b.Renderers})
	return e, client, err
}
