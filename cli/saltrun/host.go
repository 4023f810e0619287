package saltrun

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	cacheopener "github.com/brineproject/brine/cache/opener"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/minionfs"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/modules"
	stdsources "github.com/brineproject/brine/pillar/sources/standard"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/runners"
	runnerauth "github.com/brineproject/brine/runners/auth"
	"github.com/brineproject/brine/runners/gitpillar"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/sdb/sqlite3"
	stdsdb "github.com/brineproject/brine/sdb/standard"
	"github.com/brineproject/brine/states"
	wheels "github.com/brineproject/brine/wheel"
)

// A host gives runners access to the host of a master: its files, and the master itself if it runs.
type host struct {
	cli.HostProgram
	r       *run
	env     *loader.Env // of runners; its registries are those of all kinds
	runners *loader.Registry
	jobs    *jobs
	own     *code.Code // users' own plug-ins
	tree    *pki.Dir
	bank    cache.Closer // nil if it cannot be opened
	pillars *pillars
	closers []func() error

	returners *loader.Registry // of users' own code

	mu  sync.Mutex
	bus *eventbus.Client // to the master; nil before the first event
	off bool             // the master does not listen
}

func newHost(ctx context.Context, r *run) (*host, error) {
	h := &host{HostProgram: cli.HostProgram{In: r.in, Opts: r.opts, Out: r.out}, r: r,
		jobs: &jobs{r: r}}
	h.env = &loader.Env{Opts: r.opts, Log: r.log, Registries: map[string]*loader.Registry{}}
	order := cli.ReportingOrder(r.cfg, r.in.Env, func(text string) {
		if !r.o.Quiet {
			r.out.Printf("%s", text)
		}
	})
	h.env.Host = loader.Host{Order: order, FireMaster: h.fire, Control: h.callNested}
	h.tree = pki.Visit(r.opts.Text("pki_dir"), pki.Options{})
	h.own = code.New(code.Options{Opts: r.opts, Log: r.log, Services: h.services()})
	if err := h.own.Check(); err != nil {
		return nil, err
	}
	if err := h.load(); err != nil {
		return nil, err
	}
	r.out.Extend(ctx, h.env.Registry)
	return h, nil
}

// load makes the registries of all kinds.
func (h *host) load() error {
	served := h.files()
	brought := h.renderFiles(served)
	brought.Renderers = append(brought.Renderers, h.own.Renderers()...)
	connected := func() ([]string, error) { return presence.Read(h.Opts.Text("cachedir")) }
	functions := *h.env
	functions.Grains = h.grains()
	found, err := h.shelf("modules", &functions, modules.Plugins(brought))
	if err != nil {
		return err
	}
	for kind, listed := range map[string][]loader.Plugin{
		"sdb":    append(stdsdb.Plugins(), sqlite3.Plugin()),
		"states": states.Plugins(), "renderers": nil, "output": cli.Outputters(),
		"wheel": wheels.Plugins(wheels.Needs{Keys: h.tree, Connected: connected}),
	} {
		if h.env.Registries[kind], err = h.shelf(kind, found.Env(), listed); err != nil {
			return err
		}
	}
	h.env.Registries["modules"] = found
	if h.returners, err = h.shelf("returners", found.Env(), nil); err != nil {
		return err
	}
	pillars, err := h.shelf("pillar", found.Env(), nil)
	if err != nil {
		return err
	}
	needs := h.needs(h.tree, connected, served)
	sources := stdsources.Sources()
	needs.GitPillar = gitpillar.Among(sources)
	h.pillars = newPillars(h.r, *h.env, found, brought.Renderers, sources, pillars)
	needs.Pillar, needs.Render = h.pillars, brought
	if h.runners, err = h.shelf("runners", h.env, stdrunners.Plugins(needs)); err != nil {
		return err
	}
	h.env.Registries["runners"] = h.runners
	return nil
}

// shelf returns a registry of the plug-ins that are listed, and of users' own of that kind.
func (h *host) shelf(
	kind string, env *loader.Env, listed []loader.Plugin,
) (*loader.Registry, error) {
	r, err := loader.NewRegistry(env, listed)
	if err != nil {
		return nil, err
	}
	r.Extend(h.own.Source(kind, r.Env(), listed))
	return r, nil
}

// needs returns the dependencies of runners. What cannot be opened is missing, and the runners that
// need it report so.
func (h *host) needs(
	tree *pki.Dir, connected func() ([]string, error), served *fileserver.Server,
) stdrunners.Needs {
	n := stdrunners.Needs{Jobs: h.jobs, Keys: tree, Connected: connected, Tokens: &tokens{h},
		Files: served, InMaster: h.callInMaster, Connections: func() (map[string]presence.Connection, error) {
			return presence.ReadConnections(h.Opts.Text("cachedir"))
		}}
	if n.Files != nil {
		n.Locks = n.Files
	}
	if bank, err := cacheopener.Open(h.Opts); err == nil {
		n.Bank, h.bank = bank, bank
		h.closers = append(h.closers, bank.Close)
		n.Mine = h.mine(tree, bank)
	} else {
		h.r.log.WithError(err).Debug("open the master's cache")
	}
	return n
}

// files returns the file server of the options; nil if it has nothing to serve.
func (h *host) files() *fileserver.Server {
	backends, err := fileserver.Build(h.Opts,
		fileserver.Makers{roots.Name: roots.Make, minionfs.Name: minionfs.Make,
			gitfs.Name: gitfs.Make}, h.r.log)
	if err != nil {
		h.r.log.WithError(err).Debug("create the file server")
		return nil
	}
	s := fileserver.New(fileserver.Options{Backends: backends, HashType: h.Opts.Text("hash_type"),
		Log: h.r.log})
	h.closers = append(h.closers, s.Close)
	return s
}

// mine returns the function for the runner mine. It reads all mine data, as the master may.
func (h *host) mine(
	tree *pki.Dir, bank cache.Bank,
) func(context.Context, any, string, any) (any, error) {
	store := mine.NewStore(bank)
	rules := mine.FleetRules(func() (*match.Fleet, error) { return runners.Fleet(h.Opts, tree, bank, false) })
	return func(_ context.Context, tgt any, tgtType string, fun any) (any, error) {
		found, err := store.Get(mine.Query{Requester: h.Opts.Text("id"), Target: tgt, Kind: tgtType,
			Fun: fun}, rules)
		if err != nil {
			return nil, err
		}
		return mine.Decoded(found)
	}
}

// renderFiles returns how functions render and fetch files: from the master's own file server.
func (h *host) renderFiles(served *fileserver.Server) render.Brought {
	b := modules.Brought()
	if served != nil {
		b.Files.Local = func(*loader.Env) (fileclient.Source, error) { return fileclient.Local(served), nil }
	}
	return b
}

// grains returns the grains of this host, which are collected on first use.
func (h *host) grains() func() *data.Map {
	return sync.OnceValue(func() *data.Map {
		g, err := grains.New(grains.Options{Opts: h.Opts, Env: h.In.Env, Log: h.r.log,
			Own: h.own.Grains}).Collect(context.Background())
		if err != nil {
			h.r.log.WithError(err).Error("collect the grains of the master")
			return data.NewMap()
		}
		return g
	})
}

// callNested calls a function for a running one, as a job of its own.
func (h *host) callNested(ctx context.Context, kind string, order loader.MasterCall) *data.Map {
	k := runners.Kind(kind)
	call := runners.Call{Fun: order.Fun, Args: order.Args, Kwargs: order.Kwargs, User: order.User,
		JID: h.r.ids.Next(),
		Tag: k == runners.Wheel}
	functions := h.runners
	if k == runners.Wheel {
		functions = h.runners.Env().Registry("wheel")
	}
	return h.clientOf(k, functions).Run(ctx, call)
}

// client returns a client that calls runners, reports them to the master and stores their results.
func (h *host) client() *runners.Client { return h.clientOf(runners.Runner, h.runners) }

func (h *host) clientOf(kind runners.Kind, functions *loader.Registry) *runners.Client {
	o := runners.Options{Kind: kind, Functions: functions, Fire: h.fire, ID: h.Opts.Text("id"),
		Log: h.r.log}
	if returns, ok := h.Opts.Get("runner_returns"); !ok || data.Truth(returns) {
		o.Keep = h.jobs.keep
	}
	return runners.New(o)
}

// busPatience is how long a running master may take to accept one event.
const busPatience = time.Second

// errNoBus is returned if no master accepts events.
var errNoBus = errors.New("no running master accepts events")

// fire fires an event on the bus of the master. After one failure it tries no other event.
func (h *host) fire(ctx context.Context, tag string, body *data.Map) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off {
		return errNoBus
	}
	ctx, cancel := context.WithTimeout(ctx, busPatience)
	defer cancel()
	if h.bus == nil {
		bus, err := eventbus.Dial(ctx, h.Sockets(), eventbus.ClientOptions{FireOnly: true})
		if err != nil {
			h.off = true
			return errors.Join(errNoBus, err)
		}
		h.bus = bus
		h.closers = append(h.closers, bus.Close)
	}
	return h.bus.Fire(ctx, tag, body)
}

func (h *host) close() {
	h.own.Close()
	h.jobs.close()
	for _, c := range h.closers {
		if err := c(); err != nil {
			h.r.log.WithError(err).Debug("close the master's files")
		}
	}
}

// tokens makes and deletes the master's tokens, for the runner auth.
type tokens struct{ h *host }

// Make asks the master for a token.
func (t *tokens) Make(ctx context.Context, fields *data.Map) (any, error) {
	out, err := t.h.Requester()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	load := fields.Clone()
	load.Set("cmd", "mk_token")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	reply, err := channel.Clear(ctx, out, load)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, loader.Exception("salt.exceptions.SaltDaemonNotRunning",
			"Salt Master must be running.")
	}
	if reply == "" {
		reply = data.NewMap() // as Salt does
	}
	return reply, err
}

// Delete deletes the file of a token.
func (t *tokens) Delete(_ context.Context, token string) (bool, error) {
	store, err := t.open()
	if err != nil {
		return false, err
	}
	_, found := store.Get(token)
	if found != nil {
		return false, store.Close()
	}
	return true, errors.Join(store.Delete(token), store.Close())
}

// Store calls do with the master's API keys.
func (t *tokens) Store(_ context.Context, do func(runnerauth.Keys) error) error {
	store, err := t.open()
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}

func (t *tokens) open() (*auth.Tokens, error) {
	dir := t.h.Opts.Text("token_dir")
	if dir == "" {
		dir = filepath.Join(t.h.Opts.Text("cachedir"), "tokens")
	}
	return auth.OpenTokens(dir, t.h.Opts.Text("hash_type"), nil)
}
