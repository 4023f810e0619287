//go:build small && !security

package standard

import "github.com/brineproject/brine/render"

func secret() []render.Renderer { return nil }
