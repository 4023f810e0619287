//go:build !small || security

package standard

import "github.com/brineproject/brine/render"

// secret returns the renderers that decrypt.
func secret() []render.Renderer { return []render.Renderer{render.GPG{}, render.NaCl{}, render.Pass{}} }
