// Package timezone is Salt's state timezone: the system's time zone, and whether its hardware clock
// uses UTC (salt/states/timezone.py). It uses the module timezone.
//
// Differences from Salt: changes show the values as read afterwards. A zone that does not exist is
// a failure with that reason.
package timezone

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state timezone.
func Plugin() loader.Plugin { return loader.Plugin{Name: "timezone", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("timezone.get_zone") {
		return nil, errors.New("timezone module could not be loaded")
	}
	return &loader.Module{Funcs: []loader.Func{loader.F("system", m.system)}}, nil
}

type systemArgs struct {
	Name string
	UTC  any `name:"utc" default:"True"`
}

// A clock holds whether the time zone and the hardware clock are as desired.
type clock struct{ zone, utc bool }

// system sets the system's time zone.
//
// utc
//
//	False: do not change the hardware clock. Default: set it to UTC.
//
//	America/Denver:
//	  timezone.system:
//	    - utc: True
func (m *module) system(ctx context.Context, a systemArgs) (change.Result, error) {
	utc := data.Truth(a.UTC)
	return change.Thing[clock]{
		Name: a.Name,
		Look: func(ctx context.Context) (clock, error) { return m.look(ctx, a.Name) },
		Wants: func(now clock) *data.Map {
			changes := &data.Map{}
			if !now.zone {
				changes.Set("timezone", a.Name)
			}
			if utc && !now.utc {
				changes.Set("utc", a.UTC)
			}
			return changes
		},
		Apply: func(ctx context.Context, now clock) error {
			if !now.zone {
				if err := change.Do(ctx, m.env, "timezone.set_zone", []any{a.Name},
					nil); err != nil {
					return err
				}
			}
			if utc && !now.utc {
				return change.Do(ctx, m.env, "timezone.set_hwclock", []any{"UTC"}, nil)
			}
			return nil
		},
		Silent: true,
		Say:    func(o change.Outcome[clock]) any { return a.comment(o) },
	}.Ensure(ctx)
}

// look reads the current time zone and clock.
func (m *module) look(ctx context.Context, name string) (clock, error) {
	same, err := loader.CallAs[bool](ctx, m.env, "timezone.zone_compare", []any{name}, nil)
	var keeps string
	if err == nil {
		keeps, err = loader.CallAs[string](ctx, m.env, "timezone.get_hwclock", nil, nil)
	}
	text := strings.ToLower(keeps)
	return clock{same, text != "localtime" && text != "local"},
		change.Except(err, loader.KindExecution, loader.KindInvocation)
}

// comment returns the comment on the zone, and on the clock unless it is left alone.
func (a systemArgs) comment(o change.Outcome[clock]) string {
	if o.Err != nil {
		return fmt.Sprintf("Unable to compare desired timezone '%s' to system timezone: %s",
			a.Name, o.Err)
	}
	var comments []string
	if o.Stage == change.StageSame {
		comments = append(comments, "Timezone "+a.Name+" already set")
		if data.Truth(a.UTC) {
			comments = append(comments, "UTC already set to "+a.Name)
		}
	}
	test := o.Stage == change.StageWould
	switch {
	case o.Before.zone:
	case test:
		comments = append(comments, "Timezone "+a.Name+" needs to be set")
	case o.After.zone:
		comments = append(comments, "Set timezone "+a.Name)
	default:
		comments = append(comments, "Failed to set timezone")
	}
	switch utc := data.Str(a.UTC); {
	case !data.Truth(a.UTC) || o.Before.utc:
	case test:
		comments = append(comments, "UTC needs to be set to "+utc)
	case o.After.utc:
		comments = append(comments, "Set UTC to "+utc)
	default:
		comments = append(comments, "Failed to set UTC to "+utc)
	}
	return strings.Join(comments, ", ")
}
