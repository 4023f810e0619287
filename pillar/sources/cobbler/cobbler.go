// Package cobbler is Salt's external pillar of that name: what a Cobbler knows of a host
// (salt/pillar/cobbler.py).
//
//	cobbler.url: https://cobbler.example.com/cobbler_api   # http://localhost/cobbler_api
//	cobbler.user: salt                                     # none
//	cobbler.password: secret
//	ext_pillar:
//	  - cobbler: {key: cobbler, only: [parameters]}
//
// If the server does not answer, that is logged, and the pillar is empty. Dates are texts.
package cobbler

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/cobbler"
	"github.com/brineproject/brine/pillar"
)

// Source is the external pillar cobbler.
type Source struct{}

var _ pillar.Checker = Source{}

// Name implements pillar.Source.
func (Source) Name() string { return "cobbler" }

// Check implements pillar.Checker.
func (Source) Check(argument any, opts *data.Map) error {
	_, err := arguments(argument)
	return errors.Join(err, cobbler.Check(opts))
}

func arguments(argument any) (*data.Map, error) {
	if argument == nil {
		argument = data.NewMap()
	}
	args, err := pillar.Bind(argument, 0, "key", "only")
	if err != nil {
		return nil, err
	}
	return args, pillar.CheckSelection(args)
}

// Pillar implements pillar.Source.
func (Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	args, err := arguments(q.Argument)
	if err != nil {
		return nil, err
	}
	v, err := cobbler.Fetch(ctx, q.Opts, q.ID)
	if err != nil {
		q.Log.Errorf("Could not connect to cobbler: data of %s: %s", q.ID, err)
		return nil, nil
	}
	m, ok := v.(*data.Map)
	if !ok {
		if data.Truth(v) {
			return nil, fmt.Errorf("the data of the server are of type %T, which is no dictionary", v)
		}
		return nil, nil
	}
	return pillar.Select(m, args), nil
}
