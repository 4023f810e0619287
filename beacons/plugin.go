package beacons

import (
	"context"
	"errors"
	"io"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Valid is Salt's comment on a valid configuration.
const Valid = "Valid beacon configuration"

// A Beacon looks at one thing of the host. Several configured beacons may use one value side by
// side, so it holds no state: what it keeps between two turns lies in [State].
type Beacon interface {
	// Validate reports whether a configuration is valid, with Salt's comment about it.
	Validate(config any) (valid bool, comment string)
	// Beacon returns what there is to report, nil for nothing. The key tag of an event, if there is
	// one, becomes the end of its tag. config is valid, and the beacon may change it; its last item
	// is the name of the configured beacon as _beacon_name. After an error the beacon is called
	// again in its next turn.
	Beacon(ctx context.Context, config any) ([]*data.Map, error)
}

// A Closer is a Beacon that stops watching while states run (disable_during_state_run).
type Closer interface {
	Close(ctx context.Context, config any) error
}

// Plugin returns a Beacon as a plug-in. file is the name of Salt's file, "" for the name itself. An
// error of make is the reason why the beacon does not work on this host.
func Plugin(name, file string, make func(env *loader.Env) (Beacon, error)) loader.Plugin {
	return loader.Plugin{Name: name, File: file, New: func(env *loader.Env) (*loader.Module, error) {
		b, err := make(env)
		if err != nil {
			return nil, err
		}
		c := calls{b}
		m := &loader.Module{Funcs: []loader.Func{loader.F("validate", c.validate), loader.F("beacon", c.beacon)}}
		if _, ok := b.(Closer); ok {
			m.Funcs = append(m.Funcs, loader.F("close", c.close))
		}
		return m, nil
	}}
}

// calls are the functions of a beacon.
type calls struct{ b Beacon }

type configArgs struct{ Config any }

func (c calls) validate(_ context.Context, a configArgs) (any, error) {
	valid, comment := c.b.Validate(a.Config)
	return data.Tuple{valid, comment}, nil
}

func (c calls) beacon(ctx context.Context, a configArgs) (any, error) {
	events, err := c.b.Beacon(ctx, a.Config)
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = e
	}
	return list, err
}

func (c calls) close(ctx context.Context, a configArgs) (any, error) {
	return nil, c.b.(Closer).Close(ctx, a.Config)
}

// errNoScope is returned by State for a beacon that the engine did not call.
var errNoScope = errors.New("the beacon has no scope to keep its state in")

type stateKey[T any] struct{}

// kept makes a *T an io.Closer.
type kept[T any] struct{ value *T }

func (k kept[T]) Close() error {
	if c, ok := any(k.value).(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// State returns what the configured beacon of ctx keeps between its turns: a T, zero at first. If *T
// has a method Close, that is called when the beacon ends. first reports whether it was made now.
func State[T any](ctx context.Context) (state *T, first bool, err error) {
	scope := loader.ScopeOf(ctx)
	if scope == nil {
		return nil, false, errNoScope
	}
	c, err := scope.Keep(stateKey[T]{}, func() (io.Closer, error) {
		first = true
		return kept[T]{new(T)}, nil
	})
	if err != nil {
		return nil, false, err
	}
	return c.(kept[T]).value, first, nil
}
