package master

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/runners"
)

// reactions carries out the orders of the reactor, and renders its files.
type reactions struct {
	base
	reactor *reactor.Reactor
	pub     *publishing
	control *control
	inputs  render.Brought
	engine  atomic.Pointer[render.Engine] // renders reaction files; nil if there are no renderers
	version atomic.Uint64                 // of users' own code that the engine knows
}

// newReactions makes the reactor. Invalid rules are logged and left out. turns decides which master of
// a cluster reacts to an event; nil means this one.
func newReactions(
	b base, cfg *config.Master, inputs render.Brought, c *control, pub *publishing, files *fileServer,
	turns reactor.Turns,
) *reactions {
	r := &reactions{base: b, pub: pub, control: c, inputs: inputs}
	if err := r.openEngine(); err != nil {
		b.log.WithError(err).Error("Reaction files are read as plain YAML")
	}
	own := engines.ReactorOf(cfg.Engines)
	var err error
	r.reactor, err = reactor.New(reactor.Options{
		Bus: b.bus, Rules: cfg.Reactor, Orders: r, Read: files.read,
		Key: func() string { return rootKey(cfg.CacheDir, b.log) }, ID: cfg.ID,
		Workers: cmp.Or(own.Workers, cfg.ReactorWorkerThreads),
		Queue:   cmp.Or(own.Queue, cfg.ReactorWorkerHWM), Log: b.log,
		Render: r.render, Turns: turns,
	})
	if err != nil {
		b.log.WithError(err).Error("Some reactor rules are invalid and left out")
	}
	return r
}

// render renders a reaction file with the current options. Without renderers it reads it as plain
// YAML.
func (r *reactions) render(
	ctx context.Context, path string, text []byte, about *data.Map,
) (any, error) {
	r.follow()
	if e := r.engine.Load(); e != nil {
		ctx, end := r.control.own.begin(ctx)
		defer end()
		return reactor.Rendered(e)(ctx, path, text, about)
	}
	return reactor.Plain(ctx, path, text, about)
}

// follow makes a new engine if files of users' own code have changed.
func (r *reactions) follow() {
	own := r.control.own
	if own == nil {
		return
	}
	if now := own.Version(); r.version.Swap(now) != now {
		own.refresh()
		if err := r.openEngine(); err != nil {
			r.log.WithError(err).Error("Reaction files are rendered with the previous renderers")
		}
	}
}

// openEngine makes the engine that renders reaction files, with the master's options, grains,
// execution functions and file server. On error the previous engine stays in use.
func (r *reactions) openEngine() error {
	if len(r.inputs.Renderers) == 0 {
		return nil
	}
	env := *r.control.modules.Env()
	env.Opts = env.Opts.Clone()
	env.Opts.Set("file_client", "local")
	e, _, err := render.ForEnv(&env, r.inputs)
	if err == nil {
		r.engine.Store(e)
	}
	return err
}

// renew applies the rules of a reloaded configuration, and the options for rendering. Rules that
// were added at runtime stay if the configured ones have not changed.
func (r *reactions) renew(old *config.Master) {
	if err := r.openEngine(); err != nil {
		r.log.WithError(err).Error("Reaction files are rendered with the previous options")
	}
	now := r.settings.config().Reactor
	if data.Equal(old.Reactor, now) {
		return
	}
	if err := r.reactor.SetRules(now); err != nil {
		r.log.WithError(err).Error("Some reactor rules are invalid and left out")
	}
}

// Publish sends a job with the rights of the master, under the reactor's user name.
func (r *reactions) Publish(ctx context.Context, what *reactor.Publication) error {
	load := data.NewMap("cmd", "publish", "tgt", what.Target, "fun", what.Fun, "arg", what.Args,
		"tgt_type", what.TargetType, "ret", what.Ret, "user", reactor.User)
	ids, missing, err := r.pub.fleet.resolve(what.Target, what.TargetType,
		what.Options.Text("delimiter"))
	if len(ids) == 0 && !r.pub.orderMasters {
		return errors.Join(errors.New("no minions matched the target "+data.Str(what.Target)), err)
	}
	load.Set("kwargs", what.Options)
	return r.pub.sendNew(ctx, load, what.Options, recipients{ids: ids, missing: missing})
}

// Run calls a runner or wheel function.
func (r *reactions) Run(
	ctx context.Context, kind runners.Kind, fun string, args []any, kwargs *data.Map,
) error {
	client, call := r.control.runner, runners.Call{
		Fun:    fun,
		Args:   args,
		Kwargs: kwargs,
		JID:    r.ids.Next(),
		User:   reactor.User,
	}
	if kind == runners.Wheel {
		client, call.Tag = r.control.wheel, true
	}
	if done := client.Run(ctx, call); done.Value("success") == false {
		return errors.New(data.Str(done.Value("return")))
	}
	return nil
}

// Call calls an execution function on the master's host.
func (r *reactions) Call(ctx context.Context, fun string, args []any, kwargs *data.Map) error {
	ctx, end := r.control.own.begin(ctx)
	defer end()
	functions := r.control.modules
	if !functions.Has(fun) {
		return errors.New(functions.MissingText(fun))
	}
	_, err := functions.Invoke(loader.WithContext(ctx, &loader.Context{}), fun, args, kwargs)
	return err
}

// Spec returns the signature of a runner or wheel function.
func (r *reactions) Spec(kind runners.Kind, fun string) (*loader.Spec, bool) {
	r.control.own.refresh()
	functions := r.control.runners
	if kind == runners.Wheel {
		functions = r.control.wheels
	}
	f, ok := functions.Func(fun)
	if !ok {
		return nil, false
	}
	return f.Spec(), true
}

// rootKey returns root's key on this host, or "" if it cannot be read.
func rootKey(cacheDir string, log logrus.FieldLogger) string {
	key, err := os.ReadFile(filepath.Join(cacheDir, ".root_key"))
	if err != nil {
		log.WithError(err).Error("read root's key")
	}
	return strings.TrimSpace(string(key))
}
