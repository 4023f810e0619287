//go:build small && !formats

package standard

import "github.com/brineproject/brine/render"

func formats() []render.Renderer { return nil }
