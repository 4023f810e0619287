package standard

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	runnerauth "github.com/brineproject/brine/runners/auth"
)

type noTokens struct{}

func (noTokens) Make(context.Context, *data.Map) (any, error)             { return nil, nil }
func (noTokens) Delete(context.Context, string) (bool, error)             { return false, nil }
func (noTokens) Store(context.Context, func(runnerauth.Keys) error) error { return nil }

func noMine(context.Context, any, string, any) (any, error) { return nil, nil }

type noPillars struct{}

func (noPillars) Compile(context.Context, pillar.Request) (*data.Map, error)    { return nil, nil }
func (noPillars) Top(context.Context, pillar.Request) (*data.Map, []any, error) { return nil, nil, nil }
func (noPillars) Saved() (*pillar.Saved, error)                                 { return nil, nil }
