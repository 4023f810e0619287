package master

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
	runnerauth "github.com/brineproject/brine/runners/auth"
)

// control runs runner and wheel functions in the master: for the clear commands runner and wheel,
// for minions that peer_run allows, and for the schedule (salt/master.py, ClearFuncs.runner and
// wheel).
type control struct {
	base
	id       string // of the master
	gate     *gatekeeper
	watchers *watchers
	jobs     returners.JobCache
	mirror   *mirror
	own      *ownCode
	ownJobs  *ownReturner
	runners  *loader.Registry
	wheels   *loader.Registry
	modules  *loader.Registry
	runner   *runners.Client
	wheel    *runners.Client
	waiting  chan runners.Call // accepted runner calls that wait for a worker
}

// Limits on concurrent and queued runners.
const (
	runnerWorkers = 64
	runnerQueue   = 1000
)

// controlPlugins are the functions that a control runs, in addition to the execution functions.
type controlPlugins struct {
	wheel, states, runners, sdb []loader.Plugin
	// see Options.Order
	order func(context.Context, *data.Map, func(string, *data.Map) bool) error
}

// load makes the registries and clients of a control.
func (c *control) load(f functions, o controlPlugins) error {
	env := &loader.Env{Opts: c.settings.saltOptions(), Log: c.log, Registries: f.shelves}
	env.Host = loader.Host{Order: o.order, FireMaster: c.fire, Control: c.callNested}
	var err error
	if c.wheels, err = loader.NewRegistry(env, o.wheel); err != nil {
		return err
	}
	c.own.extend(c.wheels, "wheel", o.wheel)
	modules := *env
	modules.Functions, modules.Grains = nil, c.grains()
	if c.modules, err = loader.NewRegistry(&modules, f.plugins); err != nil {
		return err
	}
	c.own.extend(c.modules, "modules", f.plugins)
	c.own.setEnv(c.modules.Env())
	f.shelves["modules"] = c.modules
	if f.shelves["states"], err = loader.NewRegistry(c.modules.Env(), o.states); err != nil {
		return err
	}
	c.own.extend(f.shelves["states"], "states", o.states)
	if f.shelves["sdb"], err = loader.NewRegistry(c.modules.Env(), o.sdb); err != nil {
		return err
	}
	c.own.extend(f.shelves["sdb"], "sdb", o.sdb)
	f.shelves["wheel"] = c.wheels
	if c.runners, err = loader.NewRegistry(env, o.runners); err != nil {
		return err
	}
	c.own.extend(c.runners, "runners", o.runners)
	f.shelves["runners"] = c.runners
	c.runner, c.wheel = c.client(runners.Runner, c.runners), c.client(runners.Wheel, c.wheels)
	return nil
}

// grains returns a function that collects the grains of the master's host on its first call and
// keeps them (salt/config/__init__.py, mminion_config).
func (c *control) grains() func() *data.Map {
	return sync.OnceValue(func() *data.Map {
		o := grains.Options{Opts: c.settings.saltOptions(), Log: c.log}
		if c.own != nil {
			o.Own = c.own.Grains
		}
		g, err := grains.New(o).Collect(context.Background())
		if err != nil {
			c.log.WithError(err).Error("collect the grains of the master")
			return data.NewMap()
		}
		return g
	})
}

// client returns a client that calls the functions of one registry.
func (c *control) client(kind runners.Kind, functions *loader.Registry) *runners.Client {
	o := runners.Options{Kind: kind, Functions: functions, ID: c.id, Fire: c.fire, Log: c.log,
		Begin: c.own.begin}
	o.Keep = func(ctx context.Context, done *runners.Done) error {
		if !c.settings.config().JobCache || c.settings.config().ExtJobCache != "" {
			return nil
		}
		return c.keep(ctx, done)
	}
	return runners.New(o)
}

// keep stores the result of a runner or wheel function in the job cache and the mirror.
func (c *control) keep(ctx context.Context, done *runners.Done) error {
	if err := done.KeepIn(ctx, c.jobs, c.now()); err != nil {
		return err
	}
	j, ret, err := done.Record(c.now())
	if err == nil {
		c.mirror.add(done.JID, ret.Minion, ret.Load)
		c.ownJobs.addJob(j)
		c.ownJobs.addReturn(done.JID, ret.Minion, ret.Load)
	}
	return err
}

// mineOf returns the query function of the runner mine. Like the master itself, whose id it uses,
// it may read everything.
func mineOf(
	id string, minions *fleet,
) func(ctx context.Context, tgt any, tgtType string, fun any) (any, error) {
	store, rules := mine.NewStore(minions.data.bank), mine.FleetRules(minions.known)
	return func(_ context.Context, tgt any, tgtType string, fun any) (any, error) {
		found, err := store.Get(mine.Query{Requester: id, Target: tgt, Kind: tgtType, Fun: fun},
			rules)
		if err != nil {
			return nil, err
		}
		return mine.Decoded(found)
	}
}

// ownTokens creates and deletes tokens for the runner auth.
type ownTokens struct{ gate *gatekeeper }

// Make creates a token for a login. For a wrong login it returns an empty map.
func (t *ownTokens) Make(ctx context.Context, fields *data.Map) (any, error) {
	m, err := t.gate.NewToken(ctx, auth.FromLogin(fields), fields.Value("token_expire"))
	if errors.Is(err, auth.ErrNotAuthenticated) {
		return data.NewMap(), nil
	}
	return m, err
}

// Delete deletes a token, and reports whether it existed.
func (t *ownTokens) Delete(_ context.Context, token string) (bool, error) {
	if _, err := t.gate.Token(token); err != nil {
		return false, nil
	}
	return true, t.gate.DeleteToken(token)
}

// Store calls do with the master's API keys.
func (t *ownTokens) Store(_ context.Context, do func(runnerauth.Keys) error) error {
	return do(t.gate.Tokens())
}

// runCommands are the clear commands that call runners and wheel functions.
func runCommands(c *control) map[string]command {
	return map[string]command{"runner": {do: c.doRunner}, "wheel": {do: c.doWheel}}
}

// errNoFunction is returned for an order that names no function.
var errNoFunction = errors.New("the order names no function")

// order reads and authorizes an order. refused is the reply if the order is refused.
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
	c.own.refresh()
	var args []any
	var kwargs *data.Map
	if f, ok := functions.Func(call.Fun); ok {
		if kind == runners.Wheel && !f.Spec().Has("user") {
			call.Low.Delete("user") // Salt passes it to the function, which then fails
		}
		args, kwargs, err = runners.FromLow(f.Spec(), string(kind)+"."+call.Fun, call.Low)
		if err != nil {
			args, kwargs = nil, nil // the call reports the error, and does nothing else
		}
	}
	if err := who.MayRun(string(kind), call.Fun, args, kwargs); err != nil {
		return call, c.refuse(string(kind), cmd, credentials.Kind, err), nil
	}
	call.Transient = data.Truth(load.Value("nocache")) && looks(kind, call.Fun)
	c.watchers.recordInitiator(call.JID, who, cmd.Caller.Remote)
	return call, nil, nil
}

// looks reports whether a function only reads what the master knows, so that its caller may ask for its
// result not to be stored (nocache). Other calls are always in the history of jobs.
func looks(kind runners.Kind, fun string) bool {
	return kind == runners.Runner && slices.Contains([]string{"jobs.active", "jobs.list_job", "jobs.list_jobs", "jobs.status",
		"manage.fleet", "manage.present", "cache.grains", "queue.list", "config.get"}, fun)
}

// lowOf returns the arguments of an order. Those of a runner are in the field kwarg. Those of a
// wheel function are next to the credentials, which lowOf removes so that no function sees them.
func lowOf(kind runners.Kind, load *data.Map) *data.Map {
	if kind == runners.Runner {
		low, _ := load.Value("kwarg").(*data.Map)
		return low.Clone()
	}
	low := load.Clone()
	for _, field := range []string{"cmd", "fun", "key", "token", "eauth", "username",
		"password", "client"} {
		low.Delete(field)
	}
	return low
}

// refuse logs a refusal and returns the reply to the order.
func (c *control) refuse(what string, cmd *channel.Command, kind auth.Kind, err error) *data.Map {
	c.gate.logRefusal(what, kind, cmd.Caller.Remote)
	var refusal *auth.Refusal
	if errors.As(err, &refusal) {
		return refusal.Map()
	}
	return data.NewMap("error", data.NewMap("name", "SaltException", "message",
		"the order could not be checked"))
}

// replyField is the field with which Brine's programs ask for the result of a runner in the reply, if it is
// secret: the event has stars in its place.
const replyField = "secret_reply"

// doRunner queues a runner, and replies with its job id and the tag of its events. A runner whose result is
// secret runs at once if the caller wants its result in the reply.
func (c *control) doRunner(ctx context.Context, cmd *channel.Command) (any, error) {
	call, refused, err := c.order(ctx, cmd, runners.Runner, c.runners)
	if err != nil || refused != nil {
		return reply(refused, err)
	}
	if f, ok := c.runners.Func(call.Fun); ok && f.Spec().SecretResult != nil && cmd.Load.Has(replyField) {
		done := c.runner.Run(ctx, call)
		done.Set("_stamp", time.Now().UTC().Format(stampLayout))
		return data.NewMap("tag", runners.Runner.Tag(call.JID), "jid", string(call.JID), "data", done), nil
	}
	select {
	case c.waiting <- call:
		return data.NewMap("tag", runners.Runner.Tag(call.JID), "jid", string(call.JID)), nil
	default:
		return data.NewMap(
			"error", data.NewMap("name", "SaltRunnerError", "message",
				"too many runners wait already")), nil
	}
}

// stampLayout is that of `_stamp` in the data of events.
const stampLayout = "2006-01-02T15:04:05.000000"

// doWheel calls a wheel function and returns its result. It fires one pair of events, as Salt does
// since 3008.
func (c *control) doWheel(ctx context.Context, cmd *channel.Command) (any, error) {
	call, refused, err := c.order(ctx, cmd, runners.Wheel, c.wheels)
	if err != nil || refused != nil {
		return reply(refused, err)
	}
	call.Tag = true
	done := c.wheel.Run(ctx, call)
	done.Delete("fun_args") // not in Salt's reply
	done.Set("_stamp", time.Now().UTC().Format(stampLayout))
	return data.NewMap("tag", runners.Wheel.Tag(call.JID), "data", done), nil
}

func reply(refused *data.Map, err error) (any, error) {
	if refused == nil {
		return nil, err
	}
	return refused, err
}

// call runs a runner at once, for a minion that is allowed to.
func (c *control) call(ctx context.Context, call runners.Call) *data.Map {
	if call.JID == "" {
		call.JID = c.ids.Next()
	}
	return c.runner.Run(ctx, call)
}

// callNested calls a runner or wheel function on behalf of a running function, as a job of its own.
func (c *control) callNested(ctx context.Context, kind string, order loader.MasterCall) *data.Map {
	call := runners.Call{Fun: order.Fun, Args: order.Args, Kwargs: order.Kwargs, User: order.User,
		JID: c.ids.Next()}
	if kind == string(runners.Wheel) {
		call.Tag = true
		return c.wheel.Run(ctx, call)
	}
	return c.runner.Run(ctx, call)
}

// serve runs queued runners until ctx ends. It then waits for those under way, whose context has
// ended too.
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

// renew applies the options of a reloaded configuration.
func (c *control) renew(opts *data.Map) {
	c.runners.SetOptions(opts)
	c.wheels.SetOptions(opts)
	c.modules.SetOptions(opts)
}
