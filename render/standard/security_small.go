//go:build small && !security

package standard

import "github.com/brineproject/brine/render"

func security() []render.Renderer { return nil }
