//go:build !small

package standard

import "github.com/brineproject/brine/render"

// extra returns the renderers that a small build leaves out.
func extra() []render.Renderer {
	return []render.Renderer{render.TOML{}, render.GPG{}, render.NaCl{}, render.Pass{}}
}
