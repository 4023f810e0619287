package swarm

import (
	"context"
	"errors"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/match"
)

// minion is one simulated minion.
type minion struct {
	swarm  *Swarm
	number int
	id     string
	key    *crypto.PrivateKey
	trust  memoryKeys
	links  []*link // one, or with HotHot one for each master
	known  known
	busy   busy
}

// memoryKeys stores the master's key of the first contact in memory.
type memoryKeys struct {
	mu  sync.Mutex
	pem string
}

func (k *memoryKeys) Master() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pem, nil
}

func (k *memoryKeys) SetMaster(_, pem string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pem = pem
	return nil
}

func (k *memoryKeys) Signing() ([]string, error) {
	return nil, errors.New("a simulated minion has no signing key")
}

// grains returns the grains of a simulated minion.
func (m *minion) grains() *data.Map {
	return data.NewMap("id", m.id, "os", "Swarm", "os_family", "Swarm", "kernel", "Linux",
		"host", m.id, "nodename", m.id, "ipv4", []any{"127.0.0.1"}, "ipv6", []any{})
}

// addLinks adds the minion's links to masters.
func (m *minion) addLinks() {
	masters := m.swarm.opts.Masters
	if !m.swarm.opts.HotHot {
		m.links = []*link{newLink(m, masters[m.number%len(masters)])}
		return
	}
	for i := range masters {
		m.links = append(m.links, newLink(m, masters[(m.number+i)%len(masters)]))
	}
}

func (m *minion) run(ctx context.Context, joining *semaphore.Weighted) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range m.links {
		group.Go(func() error { return l.run(ctx, joining) })
	}
	return group.Wait()
}

// failed counts and logs a failure, unless the swarm ends.
func (m *minion) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		m.swarm.Stats.Failures.Add(1)
		m.swarm.opts.Log.WithError(err).Warn(m.id)
	}
}

// take handles one publication that came over a link. What it starts goes on until work ends.
func (m *minion) take(ctx, work context.Context, l *link, body []byte) {
	stats := &m.swarm.Stats
	pub, err := l.client.OpenPublication(ctx, body)
	switch {
	case errors.Is(err, channel.ErrStale):
		stats.Stale.Add(1)
		return
	case err != nil:
		m.failed(ctx, err)
		return
	case !m.isTargeted(pub):
		return
	}
	stats.Jobs.Add(1)
	if !m.known.add(m.swarm.jobs.number(string(pub.JID))) {
		stats.Repeated.Add(1)
		return
	}
	if o := m.swarm.opts.Observer; o != nil {
		o.Ran(m.id, string(pub.JID))
	}
	stats.Ran.Add(1)
	m.swarm.work.Go(func() { m.answer(work, l, pub) })
}

func (m *minion) isTargeted(pub *job.Publication) bool {
	kind := pub.TargetType
	if kind == "" {
		kind = "glob"
	}
	if pub.Target == "*" && kind == "glob" {
		return true
	}
	target, err := match.Compile(pub.Target, kind, match.PublicationDelimiter(kind, pub.Delimiter),
		match.Options{})
	return err == nil && target.Match(&match.Minion{ID: m.id, Grains: m.grains(),
		Pillar: data.NewMap()})
}

// answer runs a job's functions and delivers the return.
func (m *minion) answer(ctx context.Context, from *link, pub *job.Publication) {
	value := any(data.NewMap())
	if !pub.Multi {
		value = m.call(ctx, pub, pub.Fun[0], pub.Arg)
	} else {
		for _, fun := range pub.Fun {
			value.(*data.Map).Set(fun, m.call(ctx, pub, fun, nil))
		}
	}
	load := pub.Map()
	reply := data.NewMap("cmd", "_return", "id", m.id, "return", value, "retcode", int64(0),
		"success", true, "jid", string(pub.JID), "fun", load.Value("fun"), "fun_args",
		load.Value("arg"), "user", pub.User)
	if !pub.Multi && isState(pub.Fun[0]) {
		reply.Set("out", "highstate")
	}
	m.deliver(ctx, from, string(pub.JID), reply)
}

// call implements the functions of a simulated minion, for a job.
func (m *minion) call(ctx context.Context, pub *job.Publication, fun string, arg []any) any {
	switch fun {
	case "test.ping":
		return true
	case "test.echo":
		if len(arg) > 0 {
			return arg[0]
		}
		return ""
	case "grains.items":
		return m.grains()
	case "grains.item":
		chosen := data.NewMap()
		for _, name := range arg {
			if v, ok := m.grains().Get(name); ok {
				chosen.Set(name, v)
			}
		}
		return chosen
	case "test.sleep":
		return m.busy.sleep(ctx, pub, arg)
	case "saltutil.find_job":
		return m.busy.find(arg)
	}
	if isState(fun) {
		return m.swarm.state()
	}
	return "'" + fun + "' is not available."
}

// event fires the i-th event of this minion's load.
func (m *minion) event(ctx context.Context, i int) error {
	_, err := m.links[0].client.Do(ctx, data.NewMap("id", m.id, "cmd", "_minion_event", "pretag", nil, "tag",
		"swarm/"+m.id, "data", data.NewMap("n", int64(i))))
	return err
}

// freeReturn sends the i-th return of this minion's load, for which the master creates a job.
func (m *minion) freeReturn(ctx context.Context, _ int) error {
	_, err := m.links[0].client.Do(ctx, data.NewMap("cmd", "_return", "id", m.id, "return", m.swarm.result(),
		"retcode", int64(0), "success", true, "jid", "req", "fun", "test.ping",
		"fun_args", []any{}))
	return err
}

// result returns the content of a return of the load.
func (s *Swarm) result() any {
	if s.opts.Size == 0 {
		return true
	}
	return strings.Repeat("x", s.opts.Size)
}

// fetch downloads a file as Salt's minion does: one piece after the other (salt/fileclient.py,
// RemoteClient.get_file).
func (m *minion) fetch(ctx context.Context, _ int) error {
	source := fileclient.Remote(m.links[0].client.Call, m.links[0].client.Do)
	for loc := int64(0); ; {
		piece, err := source.Read(ctx, "base", m.swarm.opts.Fetch, loc, 0)
		if err != nil || len(piece.Data) == 0 {
			return err
		}
		loc += int64(len(piece.Data))
		m.swarm.Stats.Fetched.Add(int64(len(piece.Data)))
	}
}

// ping sends a clear ping.
func (m *minion) ping(ctx context.Context, _ int) error {
	_, err := channel.Clear(ctx, &m.links[0].out, data.NewMap("cmd", "ping"))
	return err
}
