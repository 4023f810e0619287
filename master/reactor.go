package master

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/runners"
)

// newReactor makes the part that answers events. Rules that make no sense are told of, and the others hold.
func newReactor(p *parts, pub *publishing) *reactor.Reactor {
	if err := p.openReactions(); err != nil {
		p.o.Log.WithError(err).Error("reactions are read as YAML alone")
	}
	r, err := reactor.New(reactor.Options{
		Bus: p.bus, Rules: p.cfg.Reactor, Orders: &reactions{p, pub}, Read: p.readFile, Key: p.rootKey, ID: p.cfg.ID,
		Workers: p.cfg.ReactorWorkerThreads, Queue: p.cfg.ReactorWorkerHWM, Log: p.o.Log, Render: p.renderReaction,
	})
	if err != nil {
		p.o.Log.WithError(err).Error("rules of the reactor are left out")
	}
	return r
}

// renderReaction renders a file of reactions by the options of now; where this master renders nothing, as YAML alone.
func (p *parts) renderReaction(ctx context.Context, path string, text []byte, about *data.Map) (any, error) {
	if e := p.reactions.Load(); e != nil {
		return reactor.Rendered(e)(ctx, path, text, about)
	}
	return reactor.Plain(ctx, path, text, about)
}

// openReactions makes what renders files of reactions, with the options, grains, execution functions and file server of the master. After
// an error what was there before goes on.
func (p *parts) openReactions() error {
	if len(p.o.Render.Renderers) == 0 {
		return nil
	}
	env := *p.shelves["modules"].Env()
	env.Opts = env.Opts.Clone()
	env.Opts.Set("file_client", "local")
	e, _, err := render.ForEnv(&env, p.lent())
	if err == nil {
		p.reactions.Store(e)
	}
	return err
}

func (m *Master) reactorPart() daemon.Part { return daemon.Part{Name: "reactor", Run: m.reactor.Run} }

// renewReactor takes the rules of a configuration that was read again, and the options that their files are rendered with. Rules that
// were added without it stay where its own have not changed.
func (m *Master) renewReactor(old *config.Master) {
	if err := m.parts.openReactions(); err != nil {
		m.log.WithError(err).Error("reactions are rendered by the options of before")
	}
	now := m.parts.settings.now().Reactor
	if data.Equal(old.Reactor, now) {
		return
	}
	if err := m.reactor.SetRules(now); err != nil {
		m.log.WithError(err).Error("rules of the reactor are left out")
	}
}

// reactions do what the reactor orders.
type reactions struct {
	p   *parts
	pub *publishing
}

// Publish sends a job as the master itself may, under the name of the reactor.
func (r *reactions) Publish(ctx context.Context, what *reactor.Publication) error {
	load := data.NewMap("cmd", "publish", "tgt", what.Target, "fun", what.Fun, "arg", what.Args, "tgt_type", what.TargetType, "ret", what.Ret, "user", reactor.User)
	ids, missing, err := r.pub.fleet.resolve(what.Target, what.TargetType, what.Options.Text("delimiter"))
	if len(ids) == 0 && !r.pub.orderMasters {
		return errors.Join(errors.New("no minions matched the target "+data.Str(what.Target)), err)
	}
	id := r.p.ids.Next()
	load.Set("jid", string(id))
	load.Set("kwargs", what.Options)
	answer, err := r.pub.send(ctx, load, what.Options, ids, missing)
	if err != nil {
		return err
	}
	if m, ok := answer.(*data.Map); ok {
		if refused, _ := m.Value("load").(*data.Map); refused.Has("error") {
			return errors.New(refused.Text("error"))
		}
	}
	return nil
}

// Run calls a function of the master.
func (r *reactions) Run(ctx context.Context, kind runners.Kind, fun string, args []any, kwargs *data.Map) error {
	client, call := r.p.control.runner, runners.Call{Fun: fun, Args: args, Kwargs: kwargs, JID: r.p.ids.Next(), User: reactor.User}
	if kind == runners.Wheel {
		client, call.Tag = r.p.control.wheel, true
	}
	if done := client.Run(ctx, call); done.Value("success") == false {
		return errors.New(data.Str(done.Value("return")))
	}
	return nil
}

// Call calls an execution function on the host of the master.
func (r *reactions) Call(ctx context.Context, fun string, args []any, kwargs *data.Map) error {
	functions := r.p.control.modules
	if !functions.Has(fun) {
		return errors.New(functions.MissingText(fun))
	}
	_, err := functions.Invoke(loader.WithContext(ctx, &loader.Context{}), fun, args, kwargs)
	return err
}

// Spec describes a function of the master.
func (r *reactions) Spec(kind runners.Kind, fun string) (*loader.Spec, bool) {
	functions := r.p.control.runners
	if kind == runners.Wheel {
		functions = r.p.control.wheels
	}
	f, ok := functions.Func(fun)
	if !ok {
		return nil, false
	}
	return f.Spec(), true
}

// maxReaction is the longest file of salt://, in bytes, that the reactor reads.
const maxReaction = 4 << 20

// readFile reads a file of the file server whole.
func (p *parts) readFile(ctx context.Context, path string) ([]byte, error) {
	var text []byte
	for {
		chunk, err := p.files.Serve(ctx, fileserver.Request{Path: path, Env: "base", Loc: int64(len(text))})
		if err != nil {
			return nil, err
		}
		if len(chunk.Data) == 0 {
			return text, nil
		}
		if text = append(text, chunk.Data...); len(text) > maxReaction {
			return nil, fmt.Errorf("salt://%s is longer than %d bytes", path, maxReaction)
		}
	}
}

// rootKey returns the key of root on this host, "" where there is none.
func (p *parts) rootKey() string {
	key, err := os.ReadFile(filepath.Join(p.cfg.CacheDir, ".root_key"))
	if err != nil {
		p.o.Log.WithError(err).Error("read the key of root")
	}
	return strings.TrimSpace(string(key))
}
