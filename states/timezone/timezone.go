// Package timezone is Salt's state timezone: the time zone of the system, and that its clock keeps UTC (salt/states/timezone.py). The
// module timezone does the work.
//
// What differs from Salt: changes are what was read again, and a zone that does not exist is a failure that says so.
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

// A clock is how the time of the system is.
type clock struct{ zone, utc bool }

// system gives the system a time zone.
//
// utc
//
//	False: leave what the clock of the hardware keeps. Default: it is to keep UTC.
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
				if err := change.Do(ctx, m.env, "timezone.set_zone", []any{a.Name}, nil); err != nil {
					return err
				}
			}
			if utc && !now.utc {
				return change.Do(ctx, m.env, "timezone.set_hwclock", []any{"UTC"}, nil)
			}
			return nil
		},
		Silent: true,
		Say:    func(o change.Outcome[clock]) any { return a.say(o) },
	}.Ensure(ctx)
}

// look reads how the time of the system is.
func (m *module) look(ctx context.Context, name string) (clock, error) {
	same, err := m.env.Call(ctx, "timezone.zone_compare", []any{name}, nil)
	var keeps any
	if err == nil {
		keeps, err = m.env.Call(ctx, "timezone.get_hwclock", nil, nil)
	}
	text := strings.ToLower(data.Str(keeps))
	return clock{same == true, text != "localtime" && text != "local"},
		change.Except(err, loader.KindExecution, loader.KindInvocation)
}

// say returns the comment: on the zone, and on the clock where it is not left alone.
func (a systemArgs) say(o change.Outcome[clock]) string {
	if o.Err != nil {
		return fmt.Sprintf("Unable to compare desired timezone '%s' to system timezone: %s", a.Name, o.Err)
	}
	var said []string
	if o.Stage == change.StageSame {
		said = append(said, "Timezone "+a.Name+" already set")
		if data.Truth(a.UTC) {
			said = append(said, "UTC already set to "+a.Name)
		}
	}
	test := o.Stage == change.StageWould
	switch {
	case o.Before.zone:
	case test:
		said = append(said, "Timezone "+a.Name+" needs to be set")
	case o.After.zone:
		said = append(said, "Set timezone "+a.Name)
	default:
		said = append(said, "Failed to set timezone")
	}
	switch utc := data.Str(a.UTC); {
	case !data.Truth(a.UTC) || o.Before.utc:
	case test:
		said = append(said, "UTC needs to be set to "+utc)
	case o.After.utc:
		said = append(said, "Set UTC to "+utc)
	default:
		said = append(said, "Failed to set UTC to "+utc)
	}
	return strings.Join(said, ", ")
}
