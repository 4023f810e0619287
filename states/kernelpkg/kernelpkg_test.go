package kernelpkg_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	state "github.com/brineproject/brine/states/kernelpkg"
)

// host is the modules kernelpkg and system of a host with one kernel and a later one available.
type host struct {
	installed []any
	active    any
	reboots   []any // their times
}

func (h *host) plugins() []loader.Plugin {
	type none struct{}
	type rebootArgs struct {
		AtTime any `name:"at_time" default:"None"`
	}
	fun := func(name string, do func() any) loader.Func {
		return loader.F(name, func(context.Context, none) (any, error) { return do(), nil })
	}
	last := func() any { return h.installed[len(h.installed)-1] }
	kernels := loader.Plugin{Name: "kernelpkg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			fun("list_installed", func() any { return h.installed }), fun("latest_available",
				func() any { return "6.1.0-10" }),
			fun("upgrade", func() any {
				h.installed = append(h.installed, "6.1.0-10")
				return data.NewMap("upgrades", data.NewMap("linux-image",
					data.NewMap("old", "", "new", "6.1")))
			}),
			fun("active", func() any { return h.active }), fun("latest_installed", last),
			fun("needs_reboot", func() any { return h.active != last() }),
		}}, nil
	}}
	system := loader.Plugin{Name: "system", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("reboot",
			func(_ context.Context, a rebootArgs) (any, error) {
				h.active, h.reboots = last(), append(h.reboots, a.AtTime)
				return true, nil
			})}}, nil
	}}
	return []loader.Plugin{kernels, system}
}

// TestRuns replays results of Salt 3006.18: test mode, real runs, and test mode again. The host
// reboots once, when the watch fires.
func TestRuns(t *testing.T) {
	h := &host{installed: []any{"6.1.0-9"}, active: "6.1.0-9"}
	runs.New(t, &loader.Env{}, h.plugins(), state.Plugin()).Replay(t, "testdata/runs.json", "", runs.Equal)
	if got := data.Repr(h.reboots); got != "[1]" {
		t.Errorf("it reboots at %s", got)
	}
}
