// Package thorium is Salt's engine thorium: states that react to events, with values that they keep in
// a register (salt/engines/thorium.py, salt/thorium).
//
//	engines:
//	  - thorium
//
// The top file in thorium_roots assigns SLS to the master. Their states run in rounds: a round begins
// with an event, and has all events that arrive in thorium_interval seconds. The SLS are compiled again
// every thorium_recompile seconds.
//
// register.go keeps values and events, reg.go, check.go, calc.go, status.go, timer.go and file.go have
// the functions on the register, act.go and key.go those that act on minions and the master, and
// compile.go makes chunks of the SLS.
//
// Where Salt's functions do not do what their documentation says, these do:
// docs/compatibility.md lists the differences.
package thorium

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/runner"
)

// Defaults of the options thorium_interval and thorium_recompile, and the limits of a round.
const (
	defaultInterval  = 500 * time.Millisecond
	defaultRecompile = 300 * time.Second
	leastPause       = time.Second // after an error
	roundEvents      = 10_000
	roundBytes       = 64 << 20
)

// A thorium is an engine with its register, which lasts as long as the daemon.
type thorium struct {
	host                engines.Host
	interval, recompile time.Duration
	events              *eventbus.Subscription
	reg                 *register
	told                loglimit.Limiter
}

// New makes the engine. The options grains, grain_keys, pillar and pillar_keys have no effect, as in
// Salt, whose engine collects what they name and does not use it.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "grains", "grain_keys", "pillar", "pillar_keys"); err != nil {
		return nil, err
	}
	t := &thorium{host: h, reg: newRegister(time.Now)}
	var errs [2]error
	t.interval, errs[0] = seconds(h.Opts, "thorium_interval", defaultInterval)
	t.recompile, errs[1] = seconds(h.Opts, "thorium_recompile", defaultRecompile)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	t.events = h.Bus.Subscribe(eventbus.SubscribeOptions{Name: "engine " + h.Name, MaxEvents: roundEvents,
		MaxBytes: roundBytes, Match: func(string) bool { return h.Leads == nil || h.Leads() }})
	return t.run, nil
}

// seconds returns an option of the daemon that is a number of seconds, at most a day.
func seconds(opts *data.Map, name string, otherwise time.Duration) (time.Duration, error) {
	v := opts.Value(name)
	if v == nil {
		return otherwise, nil
	}
	n, ok := number(v)
	if !ok || n < 0 || n > 86400 {
		return 0, fmt.Errorf("%s: expected seconds, at most 86400, not %s", name, data.Repr(v))
	}
	return time.Duration(n * float64(time.Second)), nil
}

// run runs rounds until ctx ends. It logs once a minute why there are none.
func (t *thorium) run(ctx context.Context) error {
	if t.host.Functions == nil {
		return errors.New("there are no execution functions here")
	}
	for {
		err := t.rounds(ctx)
		if ctx.Err() != nil {
			t.events.Close()
			return ctx.Err()
		}
		if t.told.First("rounds") {
			t.host.Log.WithError(err).Errorf("engine %s: run thorium", t.host.Name)
		}
		if err := clock.Sleep(ctx, max(t.interval, leastPause)); err != nil {
			t.events.Close()
			return err
		}
	}
}

// rounds compiles the SLS and runs rounds until there is an error.
func (t *thorium) rounds(ctx context.Context) error {
	env := t.env()
	states, err := loader.NewRegistry(env, t.plugins())
	if err != nil {
		return err
	}
	for {
		chunks, err := compile(ctx, env, t.host.Render)
		if err != nil {
			return err
		}
		for end := time.Now().Add(t.recompile); ; {
			if err := t.collect(ctx); err != nil {
				return err
			}
			if err := round(ctx, env, states, chunks); err != nil {
				return err
			}
			if time.Now().After(end) {
				break
			}
		}
	}
}

// collect waits for an event, and puts it and those of the next interval into the register.
func (t *thorium) collect(ctx context.Context) error {
	all, err := t.events.NextFew(ctx, make([]eventbus.Event, 0, 16), roundBytes)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, t.interval)
	defer cancel()
	size := 0
	for len(all) < roundEvents && size < roundBytes {
		more, err := t.events.NextFew(limited, make([]eventbus.Event, 0, 256), roundBytes)
		if err != nil {
			break // the interval is over, or ctx ends
		}
		for _, e := range more {
			size += len(e.Data)
		}
		all = append(all, more...)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.reg.begin(all)
	return nil
}

// round runs the states on the events of the register.
func round(ctx context.Context, env *loader.Env, states *loader.Registry, chunks []state.Chunk) error {
	r, err := runner.New(runner.Options{Env: env, States: states})
	if err != nil {
		return err
	}
	own := make([]state.Chunk, len(chunks))
	for i, c := range chunks {
		own[i] = state.Chunk{Map: data.Clone(c.Map).(*data.Map)} // the runner marks them
	}
	_, err = r.Chunks(loader.WithContext(ctx, &loader.Context{}), own)
	return err
}

// plugins returns the functions of thorium, by their modules.
func (t *thorium) plugins() []loader.Plugin {
	var all []loader.Plugin
	for name, functions := range map[string]func(env *loader.Env) []loader.Func{
		"calc": t.reg.calcFunctions, "check": t.reg.checkFunctions, "file": t.reg.fileFunctions,
		"key": t.keyFunctions, "local": t.localFunctions, "reg": t.reg.regFunctions,
		"runner": t.runnerFunctions, "status": t.statusFunctions, "timer": t.reg.timerFunctions,
		"wheel": t.wheelFunctions,
	} {
		all = append(all, loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: functions(env)}, nil
		}})
	}
	return all
}
