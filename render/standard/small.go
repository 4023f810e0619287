//go:build small

package standard

import "github.com/brineproject/brine/render"

func extra() []render.Renderer { return nil }
