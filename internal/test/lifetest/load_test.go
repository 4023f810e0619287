//go:build linux

package lifetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// An order is a submitted job.
type order struct {
	jid       string
	kind      string
	confirmed bool // the master gave its id to the client
	counts    bool // it adds a line to the counter
	absent    []string
	request   client.Request
	right     func(value any) bool
}

// A kind is one of the jobs of the load.
type kind struct {
	name  string
	share int // of a hundred
	fill  func(o *order, rng *rand.Rand)
}

var kinds = []kind{
	{"ping", 38, func(o *order, _ *rand.Rand) {
		o.request.Fun, o.right = "test.ping", func(v any) bool { return v == true }
	}},
	{"echo", 20, func(o *order, rng *rand.Rand) {
		text := strings.Repeat(o.jid+" ", 1+rng.IntN(400))
		o.request.Fun, o.request.Arg, o.right = "test.echo", []any{text},
			func(v any) bool { return v == text }
	}},
	{"arg", 10, func(o *order, _ *rand.Rand) {
		o.request.Fun, o.request.Arg = "test.arg", []any{o.jid, int64(7)}
		o.right = func(v any) bool {
			m, ok := v.(*data.Map)
			return ok && data.Equal(m.Value("args"), o.request.Arg)
		}
	}},
	{"count", 20, func(o *order, _ *rand.Rand) { o.shell("") }},
	{"second", 9, func(o *order, _ *rand.Rand) { o.shell("; sleep 1") }},
	// some stop always comes before
	{"long", 3, func(o *order, _ *rand.Rand) { o.shell("; sleep 1000 & wait") }},
}

// shell makes o a program that counts its runs and prints its id.
func (o *order) shell(then string) {
	o.counts = true
	o.request.Fun, o.request.Arg = "cmd.run",
		[]any{fmt.Sprintf(`echo %s >> "$%s"; echo %s%s`, o.jid, counterVar, o.jid, then)}
	o.right = func(v any) bool { return v == o.jid }
}

// A load submits jobs to a master, whatever happens to it.
type load struct {
	site *site
	rng  *rand.Rand
	ids  *job.IDs
	out  *zeromq.Requester
	c    *client.Local // nil when there is no connection

	mu     sync.Mutex
	orders []*order
	given  int // confirmed
}

func newLoad(s *site, rng *rand.Rand) *load {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.masterCfg.RetPort))
	return &load{site: s, rng: rng, ids: job.NewIDs(nil),
		out: zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + address,
			BackoffMin: 20 * time.Millisecond, BackoffMax: 100 * time.Millisecond})}
}

func (l *load) close() error {
	l.leave()
	return l.out.Close()
}

func (l *load) leave() {
	if l.c != nil {
		_ = l.c.Close() // the master may be gone
		l.c = nil
	}
}

// order submits a job of some kind until the master has confirmed one, each time with a new id.
func (l *load) order(ctx context.Context) error {
	kind := l.rng.IntN(100)
	for _, k := range kinds {
		if kind -= k.share; kind < 0 {
			return l.orderOf(ctx, k.name, func(o *order) { k.fill(o, l.rng) })
		}
	}
	return fmt.Errorf("the shares of all kinds are less than a hundred")
}

func (l *load) orderOf(ctx context.Context, kind string, fill func(o *order)) error {
	for by := time.Now().Add(patience); ; {
		o := &order{jid: string(l.ids.Next()), kind: kind, request: client.Request{Target: "*", Kind: "glob"}}
		o.request.JID = o.jid
		fill(o)
		err := l.publish(ctx, o)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Now().After(by) {
			return fmt.Errorf("no master takes a job: %w", err)
		}
		l.leave()
		time.Sleep(look)
	}
}

func (l *load) publish(ctx context.Context, o *order) (err error) {
	if l.c == nil {
		if l.c, err = l.dial(ctx); err != nil {
			l.c = nil
			return err
		}
	}
	l.mu.Lock()
	l.orders = append(l.orders, o)
	l.mu.Unlock()
	given, err := l.c.Publish(ctx, o.request)
	if err != nil {
		return err
	}
	if string(given.ID) != o.jid {
		return fmt.Errorf("the master calls job %s %s", o.jid, given.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o.confirmed, o.absent = true, given.Absent
	l.given++
	return nil
}

func (l *load) dial(ctx context.Context) (*client.Local, error) {
	who, err := user.Current()
	if err != nil {
		return nil, err
	}
	cfg, silent := l.site.masterCfg, logrus.New()
	silent.SetLevel(logrus.PanicLevel)
	return client.Open(ctx, client.Options{CacheDir: cfg.CacheDir, SockDir: cfg.SockDir,
		User: cfg.User, Caller: who.Username, Out: l.out, Timeout: 2 * time.Second, Log: silent})
}

// running submits jobs of a kind until one runs on a minion, and returns its id.
func (l *load) running(t *testing.T, name string, m *minion) (jid string) {
	t.Helper()
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
	await(t, "a job that runs on "+m.id, func() bool {
		if err := l.orderOf(t.Context(), name, func(o *order) { k.fill(o, l.rng); jid = o.jid }); err != nil {
			t.Fatal(err)
		}
		for range 10 { // a minion that has only just come back may have missed it
			if slices.Contains(m.running(), jid) {
				return true
			}
			time.Sleep(look)
		}
		return false
	})
	return jid
}

// confirmed returns how many jobs the master has confirmed.
func (l *load) confirmed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given
}

// pingAll waits until each minion answers a ping.
func (l *load) pingAll(t *testing.T, heard *events) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range l.site.minions {
		open[m.id] = true
	}
	var asked []string
	await(t, "an answer of all minions", func() bool {
		err := l.orderOf(t.Context(), "ping", func(o *order) {
			asked = append(asked, o.jid)
			o.request.Fun, o.right = "test.ping", func(v any) bool { return v == true }
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // not a flood
		for _, jid := range asked {
			for id := range open {
				if heard.count(jid, id) > 0 {
					delete(open, id)
				}
			}
		}
		return len(open) == 0
	})
}

// events counts the master's events about returns.
type events struct {
	mu   sync.Mutex
	rets map[answer]int
}

// An answer is a minion's return for a job.
type answer struct{ jid, minion string }

// listen counts until ctx ends, across all restarts of the master.
func (e *events) listen(ctx context.Context, s eventbus.Sockets) {
	for ctx.Err() == nil {
		bus, err := eventbus.Dial(ctx, s,
			eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{"salt/job/"}}})
		if err != nil {
			time.Sleep(look)
			continue
		}
		for {
			event, err := bus.Next(ctx)
			if err != nil {
				break
			}
			e.take(event.Tag)
		}
		_ = bus.Close() // the master may be gone
	}
}

func (e *events) take(tag string) {
	jid, id, ok := strings.Cut(strings.TrimPrefix(tag, "salt/job/"), "/ret/")
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rets[answer{jid, id}]++
}

func (e *events) count(jid, id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rets[answer{jid, id}]
}
