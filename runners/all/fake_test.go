package all

import (
	"context"

	"github.com/brineproject/brine/data"
)

type noTokens struct{}

func (noTokens) Make(context.Context, *data.Map) (any, error) { return nil, nil }
func (noTokens) Delete(context.Context, string) (bool, error) { return false, nil }

func noMine(context.Context, any, string, any) (any, error) { return nil, nil }
