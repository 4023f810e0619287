package master

import (
	"context"
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/runners/gitpillar"
	stdrunners "github.com/brineproject/brine/runners/standard"
	wheels "github.com/brineproject/brine/wheel"
)

// control runs the functions of the shelves runners and wheel in the master: for the clear commands of these names, for
// minions as peer_run allows, and for the schedule (salt/master.py, ClearFuncs.runner and wheel).
type control struct {
	gate     *gatekeeper
	watchers *watchers
	ids      *job.IDs
	runners  *loader.Registry
	wheels   *loader.Registry
	modules  *loader.Registry
	runner   *runners.Client
	wheel    *runners.Client
	waiting  chan runners.Call // runners that wait for a worker
	log      logrus.FieldLogger
}

// How many runners run at one time, and how many may wait for that.
const (
	runnerWorkers = 64
	runnerQueue   = 1000
)

func newControl(p *parts) (*control, error) {
	c := &control{gate: p.gate, watchers: p.watchers, ids: p.ids, waiting: make(chan runners.Call, runnerQueue), log: p.o.Log}
	env := &loader.Env{Opts: p.settings.all(), Log: p.o.Log, Shelves: p.shelves}
	env.Host.Order = p.o.Order
	env.Host.FireMaster = func(_ context.Context, tag string, body *data.Map) error { return p.bus.Fire(tag, body) }
	env.Host.Control = c.within
	connected := func() ([]string, error) { return p.presence.connected(), nil }
	var err error
	if c.wheels, err = shelf(env, p.o.Wheel, wheels.Needs{Keys: p.keys, Connected: connected}); err != nil {
		return nil, err
	}
	modules := *env
	modules.Functions, modules.Grains = nil, p.grains()
	if c.modules, err = loader.NewRegistry(&modules, p.plugins); err != nil {
		return nil, err
	}
	env.Shelves["modules"] = c.modules
	if env.Shelves["states"], err = loader.NewRegistry(c.modules.Env(), p.o.States); err != nil {
		return nil, err
	}
	env.Shelves["wheel"] = c.wheels
	if c.runners, err = shelf(env, p.o.Runners, stdrunners.Needs{Jobs: p.jobs, Keys: p.keys, Bank: p.data.bank, Files: p.files,
		Connected: connected,
		Mine:      mineOf(p), Tokens: &ownTokens{p.gate}, Locks: p.files, Pillar: p.compiler, GitPillar: gitpillar.Among(p.o.Sources)}); err != nil {
		return nil, err
	}
	env.Shelves["runners"] = c.runners
	c.runner, c.wheel = p.client(runners.Runner, c.runners), p.client(runners.Wheel, c.wheels)
	return c, nil
}

// grains returns those of the master's host. They are collected when something asks for them first, and stay
// (salt/config/__init__.py, mminion_config).
func (p *parts) grains() func() *data.Map {
	return sync.OnceValue(func() *data.Map {
		g, err := grains.New(grains.Options{Opts: p.settings.all(), Log: p.o.Log}).Collect(context.Background())
		if err != nil {
			p.o.Log.WithError(err).Error("the grains of the master cannot be collected")
			return data.NewMap()
		}
		return g
	})
}

// shelf makes the functions of a shelf, which may be empty.
func shelf[N any](env *loader.Env, plugins func(N) []loader.Plugin, needs N) (*loader.Registry, error) {
	if plugins == nil {
		return loader.NewRegistry(env, nil)
	}
	return loader.NewRegistry(env, plugins(needs))
}

// client returns what calls the functions of a shelf.
func (p *parts) client(kind runners.Kind, functions *loader.Registry) *runners.Client {
	o := runners.Options{Kind: kind, Functions: functions, ID: p.cfg.ID, Log: p.o.Log}
	o.Fire = func(_ context.Context, tag string, body *data.Map) error { return p.bus.Fire(tag, body) }
	o.Keep = func(ctx context.Context, done *runners.Done) error {
		if !p.settings.now().JobCache || p.settings.all().Text("ext_job_cache") != "" {
			return nil
		}
		return p.keep(ctx, done)
	}
	return runners.New(o)
}

// keep keeps the result of a runner or wheel function.
func (p *parts) keep(ctx context.Context, done *runners.Done) error {
	if err := done.KeepIn(ctx, p.jobs, p.o.Now()); err != nil {
		return err
	}
	_, ret, err := done.Record(p.o.Now())
	if err == nil {
		p.mirror.add(done.JID, ret.Minion, ret.Load)
	}
	return err
}

// mineOf returns what the runner mine reads: everything, as the master may.
func mineOf(p *parts) func(ctx context.Context, tgt any, tgtType string, fun any) (any, error) {
	store, rules := mine.NewStore(p.data.bank), mine.FleetRules((&fleet{p.keys, p.data, p.settings}).known)
	return func(_ context.Context, tgt any, tgtType string, fun any) (any, error) {
		found, err := store.Get(mine.Query{Requester: p.cfg.ID, Target: tgt, Kind: tgtType, Fun: fun}, rules)
		if err != nil {
			return nil, err
		}
		return mine.Decoded(found)
	}
}

// ownTokens are the master's tokens for the runner auth.
type ownTokens struct{ gate *gatekeeper }

// Make makes a token for a login; None for a wrong one.
func (t *ownTokens) Make(ctx context.Context, fields *data.Map) (any, error) {
	m, err := t.gate.NewToken(ctx, auth.FromLogin(fields), fields.Value("token_expire"))
	if errors.Is(err, auth.ErrNotAuthenticated) {
		return data.NewMap(), nil
	}
	return m, err
}

// Delete deletes a token.
func (t *ownTokens) Delete(_ context.Context, token string) (bool, error) {
	if _, err := t.gate.Token(token); err != nil {
		return false, nil
	}
	return true, t.gate.DeleteToken(token)
}

// runCommands are the clear commands that call runners and wheel functions.
func runCommands(c *control) map[string]command {
	return map[string]command{"runner": {do: c.doRunner}, "wheel": {do: c.doWheel}}
}

// errNoFunction is returned for an order that names no function.
var errNoFunction = errors.New("the order names no function")

// order reads and authorises an order. refused is the reply to one that is refused.
func (c *control) order(ctx context.Context, cmd *channel.Command, kind runners.Kind,
	functions *loader.Registry,
) (call runners.Call, refused *data.Map, err error) {
	credentials := claimed(auth.FromLoad(auth.Pick(cmd.Load)), cmd)
	who, err := c.gate.Identify(ctx, credentials)
	if err != nil {
		return call, c.refuse(string(kind), cmd, credentials.Kind, err), nil
	}
	load := loadMap(cmd.Load)
	if call.Fun = load.Text("fun"); call.Fun == "" {
		return call, nil, errNoFunction
	}
	call.Low, call.JID, call.User = lowOf(kind, load), c.ids.Next(), who.Name
	var args []any
	var kwargs *data.Map
	if f, ok := functions.Func(call.Fun); ok {
		if kind == runners.Wheel && !f.Spec().Has("user") {
			call.Low.Delete("user") // Salt gives it to the function, which then fails
		}
		args, kwargs, err = runners.FromLow(f.Spec(), string(kind)+"."+call.Fun, call.Low)
		if err != nil {
			args, kwargs = nil, nil // the call will say what is wrong, and does nothing else
		}
	}
	if err := who.MayRun(string(kind), call.Fun, args, kwargs); err != nil {
		return call, c.refuse(string(kind), cmd, credentials.Kind, err), nil
	}
	c.watchers.note(call.JID, who, cmd.Caller.Remote)
	return call, nil, nil
}

// lowOf returns the arguments in an order: those of a runner stand under kwarg, those of a wheel function beside the
// credentials, which no function gets to see.
func lowOf(kind runners.Kind, load *data.Map) *data.Map {
	if kind == runners.Runner {
		low, _ := load.Value("kwarg").(*data.Map)
		return low.Clone()
	}
	low := load.Clone()
	for _, field := range []string{"cmd", "fun", "key", "token", "eauth", "username", "password", "client"} {
		low.Delete(field)
	}
	return low
}

// refuse makes the reply to an order that is refused.
func (c *control) refuse(what string, cmd *channel.Command, kind auth.Kind, err error) *data.Map {
	c.gate.logRefusal(what, kind, cmd.Caller.Remote)
	var refusal *auth.Refusal
	if errors.As(err, &refusal) {
		return refusal.Map()
	}
	return data.NewMap("error", data.NewMap("name", "SaltException", "message", "the order could not be checked"))
}

// doRunner starts a runner and says under which tag it will be told of.
func (c *control) doRunner(ctx context.Context, cmd *channel.Command) (any, error) {
	call, refused, err := c.order(ctx, cmd, runners.Runner, c.runners)
	if err != nil || refused != nil {
		return reply(refused, err)
	}
	select {
	case c.waiting <- call:
		return data.NewMap("tag", runners.Runner.Tag(call.JID), "jid", string(call.JID)), nil
	default:
		return data.NewMap("error", data.NewMap("name", "SaltRunnerError", "message", "too many runners wait already")), nil
	}
}

// doWheel calls a wheel function and returns its result. There is one pair of events, as since Salt 3008.
func (c *control) doWheel(ctx context.Context, cmd *channel.Command) (any, error) {
	call, refused, err := c.order(ctx, cmd, runners.Wheel, c.wheels)
	if err != nil || refused != nil {
		return reply(refused, err)
	}
	call.Tag = true
	done := c.wheel.Run(ctx, call)
	done.Delete("fun_args") // not in Salt's reply
	return data.NewMap("tag", runners.Wheel.Tag(call.JID), "data", done), nil
}

func reply(refused *data.Map, err error) (any, error) {
	if refused == nil {
		return nil, err
	}
	return refused, err
}

// call calls a runner at once, for a minion that may.
func (c *control) call(ctx context.Context, call runners.Call) *data.Map {
	if call.JID == "" {
		call.JID = c.ids.Next()
	}
	return c.runner.Run(ctx, call)
}

// within calls a function for one that runs already, as a job of its own.
func (c *control) within(ctx context.Context, kind string, order loader.Control) *data.Map {
	call := runners.Call{Fun: order.Fun, Args: order.Args, Kwargs: order.Kwargs, User: order.User, JID: c.ids.Next()}
	if kind == string(runners.Wheel) {
		call.Tag = true
		return c.wheel.Run(ctx, call)
	}
	return c.runner.Run(ctx, call)
}

// serve runs the runners that were ordered, until ctx ends; those under way are told to end then, and waited for.
func (c *control) serve(ctx context.Context) error {
	var workers sync.WaitGroup
	for range runnerWorkers {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case call := <-c.waiting:
					c.runner.Run(ctx, call)
				}
			}
		})
	}
	workers.Wait()
	return nil
}

// renew takes the options of a configuration that was read again.
func (c *control) renew(opts *data.Map) {
	c.runners.SetOptions(opts)
	c.wheels.SetOptions(opts)
	c.modules.SetOptions(opts)
}
