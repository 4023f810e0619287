package reactor

import (
	"bytes"
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/render"
)

// Rendered returns a Render that uses the renderers named in the file, or the option renderer.
// Templates see tag and data, and the engine's own variables (salt/utils/reactor.py,
// Reactor.render_reaction). Plain YAML files bypass the engine.
func Rendered(e *render.Engine) Render {
	return func(ctx context.Context, path string, text []byte, about *data.Map) (any, error) {
		if isPlain(e, text) {
			return Plain(ctx, path, text, about)
		}
		vars := map[string]any{}
		for name, v := range about.All() {
			vars[data.Str(name)] = v
		}
		v, err := e.Render(ctx, render.Input{Text: string(text), Path: path,
			SaltEnv: "base", Vars: vars})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return v, nil
	}
}

// isPlain reports whether yaml is the only renderer with work to do in a file.
func isPlain(e *render.Engine, text []byte) bool {
	for _, mark := range []string{"{{", "{%", "{#"} {
		if bytes.Contains(text, []byte(mark)) {
			return false
		}
	}
	if line, ok := shebang(text); ok {
		return line == "yaml"
	}
	pipe, _ := e.Env().Option("renderer").(string)
	return (pipe == "" || pipe == render.DefaultPipe) && !data.Truth(e.Env().Option("jinja_env"))
}
