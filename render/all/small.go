//go:build small

package all

import "github.com/brineproject/brine/render"

func extra() []render.Renderer { return nil }
