//go:build !small || formats

package standard

import "github.com/brineproject/brine/render"

// formats returns the renderers of formats that are seldom used.
func formats() []render.Renderer { return []render.Renderer{render.TOML{}} }
