//go:build small

package modules

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

func extra(render.Brought) []loader.Plugin { return nil }

func files() fileclient.Brought { return fileclient.Brought{} }
