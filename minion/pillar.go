package minion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/version"
)

// errCompiling is returned to a template of pillar that asks for a fresh pillar, which would need that template.
var errCompiling = errors.New("the pillar is being compiled, and cannot be asked for by its own templates")

type compilingKey struct{}

// ownPillar reports whether the minion compiles its pillar itself (salt/pillar/__init__.py, get_pillar).
func (m *Minion) ownPillar() bool {
	opts := m.settings.all()
	if opts.Text("file_client") == "local" {
		return !data.Truth(opts.Value("use_master_when_local"))
	}
	return opts.Text("master_type") == "disable"
}

// compilePillar returns a pillar that is compiled anew: by the first master, or here.
func (m *Minion) compilePillar(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
	switch {
	case m.ownPillar():
		return m.ownCompile(ctx, q, m.Pillar())
	case len(m.links) == 0:
		return nil, errors.New("there is no master to ask for the pillar")
	}
	return m.links[0].askPillar(ctx, q)
}

// ownCompile compiles the pillar of pillar_roots and ext_pillar in the minion's own options. known is what templates see as pillar.
func (m *Minion) ownCompile(ctx context.Context, q loader.PillarQuery, known *data.Map) (*data.Map, error) {
	if ctx.Value(compilingKey{}) != nil {
		return nil, errCompiling
	}
	o := pillar.Options{Opts: m.settings.all(), Sources: m.opts.Sources, Version: version.Salt(), Log: m.log}
	o.Engine = pillar.Engines(m.lent, m.opts.Plugins, m.opts.Render.Renderers)
	c, err := pillar.New(o)
	if err != nil {
		return nil, err
	}
	return c.Compile(context.WithValue(ctx, compilingKey{}, true), pillar.Request{
		ID: m.cfg.ID, Grains: m.Grains(), SaltEnv: q.SaltEnv, PillarEnv: q.PillarEnv, Override: q.Override, Demand: q.External,
		Known: known,
	})
}

// usual asks for the pillar that the minion's options name.
func (m *Minion) usual() loader.PillarQuery {
	cfg := m.settings.now()
	return loader.PillarQuery{SaltEnv: cfg.SaltEnv, PillarEnv: cfg.PillarEnv}
}

// renewOwnPillar compiles the pillar as at the start, without what is known already, so that what the files have no more is gone.
func (m *Minion) renewOwnPillar(ctx context.Context) error {
	asked := m.turns.ask()
	p, err := m.ownCompile(ctx, m.usual(), nil)
	if err == nil {
		m.setPillar(asked, p)
	}
	return err
}

// renewPillar fetches the pillar from all masters, or compiles it. clean has a master forget what it keeps of it.
func (m *Minion) renewPillar(ctx context.Context, clean bool) error {
	if m.ownPillar() {
		return m.renewOwnPillar(ctx)
	}
	return m.each(func(l *link) error {
		if !l.gate.isOpen() {
			return errOutside
		}
		return l.fetchPillar(ctx, clean)
	})
}

// setPillar makes p, the answer to the request of a number, the pillar of now, unless that of a later request is.
func (m *Minion) setPillar(asked uint64, p *data.Map) {
	m.turns.answer(asked, func() {
		m.facts.setPillar(p)
		if m.scheduler != nil { // a Caller has none
			m.scheduler.SetPillar(mapIn(p, "schedule"))
		}
	})
}

// turns number requests, so that a slow answer does not replace that of a later request.
type turns struct {
	mu              sync.Mutex
	asked, answered uint64
}

// ask returns the number of a request that is about to be made.
func (t *turns) ask() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	return t.asked
}

// answer does what the answer to a request brings, unless a later one was answered.
func (t *turns) answer(asked uint64, do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked > t.answered {
		t.answered = asked
		do()
	}
}

// fetchPillar asks the master for this minion's pillar and gives it the grains.
func (l *link) fetchPillar(ctx context.Context, clean bool) error {
	q := l.m.usual()
	q.Clean = clean
	asked := l.m.turns.ask()
	p, err := l.askPillar(ctx, q)
	if err == nil {
		l.m.setPillar(asked, p)
	}
	return err
}

// askPillar asks the master for a pillar (salt/pillar/__init__.py, RemotePillar).
func (l *link) askPillar(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
	extra, err := l.m.extraData()
	if err != nil {
		return nil, err
	}
	override := q.Override
	if override == nil {
		override = data.NewMap()
	}
	load := data.NewMap("id", l.m.cfg.ID, "grains", l.m.Grains(), "saltenv", textOrNone(q.SaltEnv), "pillarenv", textOrNone(q.PillarEnv),
		"pillar_override", override, "extra_minion_data", extra, "ver", "2", "cmd", "_pillar")
	if q.Clean {
		load.Set("clean_cache", true)
	}
	if q.External.Len() > 0 {
		load.Set("ext", q.External)
	}
	return l.client.Pillar(ctx, load)
}

// extraData are the options that pass_to_ext_pillars names, for external pillars (get_ext_pillar_extra_minion_data).
func (m *Minion) extraData() (*data.Map, error) {
	extra, opts := data.NewMap(), m.settings.all()
	option, ok := opts.Get("pass_to_ext_pillars")
	if !ok || option == nil {
		return extra, nil
	}
	names, ok := option.([]any)
	if !ok {
		return nil, errors.New("'pass_to_ext_pillars' config is malformed.") //nolint:staticcheck // Salt's text
	}
	for _, name := range names {
		path, isText := name.(string)
		if !isText {
			return nil, fmt.Errorf("pass_to_ext_pillars: %s is no name of an option", data.Repr(name))
		}
		data.Merge(extra, cut(opts, strings.Split(path, ":")), true)
	}
	return extra, nil
}

// cut returns the maps above a value and the value alone; an empty map when it is not there.
func cut(m *data.Map, path []string) *data.Map {
	v, ok := m.Get(path[0])
	switch {
	case !ok:
		return data.NewMap()
	case len(path) == 1:
		return data.NewMap(path[0], data.Clone(v))
	}
	in, _ := v.(*data.Map)
	if below := cut(in, path[1:]); below.Len() > 0 {
		return data.NewMap(path[0], below)
	}
	return data.NewMap()
}
