//go:build !small || security

package standard

import "github.com/brineproject/brine/render"

// security returns the renderers that decrypt.
func security() []render.Renderer {
	return []render.Renderer{render.GPG{}, render.NaCl{}, render.Pass{}}
}
