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
func (m *module) system(ctx context.Context, a systemArgs) (any, error) {
	now, err := m.look(ctx, a.Name)
	if kind := loader.KindOf(err); kind == loader.KindExecution || kind == loader.KindInvocation {
		return change.Failed(a.Name, fmt.Sprintf("Unable to compare desired timezone '%s' to system timezone: %s", a.Name, err)), nil
	}
	if err != nil {
		return nil, err
	}
	utc := data.Truth(a.UTC)
	if now.zone && (now.utc || !utc) {
		comment := "Timezone " + a.Name + " already set"
		if utc {
			comment += ", UTC already set to " + a.Name
		}
		return change.Done(a.Name, comment), nil
	}
	if change.Test(ctx) {
		var would []string
		if !now.zone {
			would = append(would, "Timezone "+a.Name+" needs to be set")
		}
		if utc && !now.utc {
			would = append(would, "UTC needs to be set to "+data.Str(a.UTC))
		}
		return change.New(a.Name, nil, nil, strings.Join(would, ", ")), nil
	}
	return m.set(ctx, a, now)
}

// look reads how the time of the system is.
func (m *module) look(ctx context.Context, name string) (clock, error) {
	same, err := m.env.Call(ctx, "timezone.zone_compare", []any{name}, nil)
	if err != nil {
		return clock{}, err
	}
	keeps, err := m.env.Call(ctx, "timezone.get_hwclock", nil, nil)
	text := strings.ToLower(data.Str(keeps))
	return clock{same == true, text != "localtime" && text != "local"}, err
}

// set sets what is not as it is to be.
func (m *module) set(ctx context.Context, a systemArgs, before clock) (any, error) {
	if !before.zone {
		_, err := m.env.Call(ctx, "timezone.set_zone", []any{a.Name}, nil)
		if err != nil {
			return nil, err
		}
	}
	if data.Truth(a.UTC) && !before.utc {
		if _, err := m.env.Call(ctx, "timezone.set_hwclock", []any{"UTC"}, nil); err != nil {
			return nil, err
		}
	}
	after, err := m.look(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	var said []string
	result, changes := true, &data.Map{}
	if !before.zone && after.zone {
		changes.Set("timezone", a.Name)
		said = append(said, "Set timezone "+a.Name)
	} else if !before.zone {
		result = false
		said = append(said, "Failed to set timezone")
	}
	switch utc := data.Str(a.UTC); {
	case !data.Truth(a.UTC) || before.utc:
	case after.utc:
		changes.Set("utc", a.UTC)
		said = append(said, "Set UTC to "+utc)
	default:
		result = false
		said = append(said, "Failed to set UTC to "+utc)
	}
	return change.New(a.Name, result, changes, strings.Join(said, ", ")), nil
}
