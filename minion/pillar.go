package minion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// compilesPillar reports whether the minion compiles its own pillar (salt/pillar/__init__.py,
// get_pillar).
func (m *Minion) compilesPillar() bool {
	opts := m.settings.saltOptions()
	if opts.Text("file_client") == "local" {
		return !data.Truth(opts.Value("use_master_when_local"))
	}
	return opts.Text("master_type") == "disable"
}

// compilePillar returns a fresh pillar, compiled by the first master or by the minion itself.
func (m *Minion) compilePillar(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
	switch {
	case m.compilesPillar():
		return m.compileLocally(ctx, q, m.Pillar())
	case len(m.links) == 0:
		return nil, errors.New("there is no master to ask for the pillar")
	}
	return m.active()[0].askPillar(ctx, q)
}

// defaultPillarQuery returns the query for the pillar environment set in the minion's options.
func (m *Minion) defaultPillarQuery() loader.PillarQuery {
	cfg := m.settings.config()
	return loader.PillarQuery{SaltEnv: cfg.SaltEnv, PillarEnv: cfg.PillarEnv}
}

// recompilePillar compiles the pillar without the known one, as at the start, so keys removed from
// the files disappear.
func (m *Minion) recompilePillar(ctx context.Context) error {
	asked := m.pillarRequests.next()
	p, err := m.compileLocally(ctx, m.defaultPillarQuery(), nil)
	if err == nil {
		m.setPillar(asked, p)
	}
	return err
}

// renewPillar fetches the pillar from all masters, or compiles it. With clean, masters discard
// their cached copy.
func (m *Minion) renewPillar(ctx context.Context, clean bool) error {
	if m.compilesPillar() {
		return m.recompilePillar(ctx)
	}
	return m.each(func(l *link) error {
		if !l.gate.isOpen() {
			return errNotAccepted
		}
		return l.fetchPillar(ctx, clean)
	})
}

// setPillar stores p, the answer to request number asked, unless a later request was already
// answered.
func (m *Minion) setPillar(asked uint64, p *data.Map) {
	m.pillarRequests.answer(asked, func() {
		m.facts.setPillar(p)
		if m.scheduler != nil { // nil in a Caller
			m.scheduler.SetPillar(subMap(p, "schedule"))
		}
		if m.beacons != nil {
			m.beacons.SetPillar(subMap(p, "beacons"))
		}
	})
}

// requestCounter numbers requests, so that a slow answer does not replace that of a later request.
type requestCounter struct {
	mu              sync.Mutex
	asked, answered uint64
}

// next returns the number of a new request.
func (t *requestCounter) next() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	return t.asked
}

// answer calls do with the answer to a request, unless a later request was already answered.
func (t *requestCounter) answer(asked uint64, do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked > t.answered {
		t.answered = asked
		do()
	}
}

// fetchPillar sends the grains to the master and stores the pillar that it returns.
func (l *link) fetchPillar(ctx context.Context, clean bool) error {
	q := l.m.defaultPillarQuery()
	q.Clean = clean
	asked := l.m.pillarRequests.next()
	p, err := l.askPillar(ctx, q)
	if err == nil {
		l.m.setPillar(asked, p)
	}
	return err
}

// askPillar requests a pillar from the master (salt/pillar/__init__.py, RemotePillar).
func (l *link) askPillar(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
	extra, err := l.m.extraData()
	if err != nil {
		return nil, err
	}
	override := q.Override
	if override == nil {
		override = data.NewMap()
	}
	load := data.NewMap("id", l.m.cfg.ID, "grains", l.m.Grains(), "saltenv", textOrNone(q.SaltEnv),
		"pillarenv", textOrNone(q.PillarEnv), "pillar_override", override, "extra_minion_data",
		extra, "ver", "2", "cmd", "_pillar")
	if q.Clean {
		load.Set("clean_cache", true)
	}
	if q.External.Len() > 0 {
		load.Set("ext", q.External)
	}
	return l.client.Pillar(ctx, load)
}

// extraData returns the options named by pass_to_ext_pillars, for external pillars
// (get_ext_pillar_extra_minion_data).
func (m *Minion) extraData() (*data.Map, error) {
	extra, opts := data.NewMap(), m.settings.saltOptions()
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
			return nil, fmt.Errorf("pass_to_ext_pillars: %s is not the name of an option",
				data.Repr(name))
		}
		data.Merge(extra, extract(opts, strings.Split(path, ":")), true)
	}
	return extra, nil
}

// extract returns the value at path with the maps above it and nothing else, or an empty map if
// there is no value.
func extract(m *data.Map, path []string) *data.Map {
	v, ok := m.Get(path[0])
	switch {
	case !ok:
		return data.NewMap()
	case len(path) == 1:
		return data.NewMap(path[0], data.Clone(v))
	}
	in, _ := v.(*data.Map)
	if below := extract(in, path[1:]); below.Len() > 0 {
		return data.NewMap(path[0], below)
	}
	return data.NewMap()
}
