//go:build small && !local

package minion

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// compileLocally returns an error: this build compiles no pillar.
func (*Minion) compileLocally(context.Context, loader.PillarQuery, *data.Map) (*data.Map, error) {
	return nil, errors.New("this small build compiles no pillar of its own: build with -tags small,local")
}
