//go:build small && !local

package modules

import (
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
)

func local() func(env *loader.Env) (fileclient.Source, error) { return nil }
