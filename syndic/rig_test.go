package syndic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/syndic"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// patience is how long tests wait for what must happen.
const patience = 30 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until done reports true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for by := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("waiting: %s", what)
		}
	}
}

// An upper is a master that records what a syndic sends. It can be stopped and started again.
type upper struct {
	t             testing.TB
	dir           string
	key           *crypto.PrivateKey
	reply, public int // ports
	keys          *pki.Dir
	publisher     *channel.Publisher
	stop          func()

	mu       sync.Mutex
	entries  []payload.Fields // of _syndic_return
	events   []payload.Fields // of _minion_event: tag and data
	raw      [][]byte         // the lists of _syndic_return
	closed   bool             // keys wait for acceptance
	busy     bool             // requests of a syndic get no reply
	refuse   bool             // returns are not taken
	bar      string           // why this master has no syndics
	order    []string         // what came: "returns", tags of events, and the minions of inventories
	poison   string           // requests with such an event get no reply
	poisoned int              // how many there were
	strict   bool             // returns are taken only from a syndic that has announced itself
	started  bool             // it has fired its start event, and then
	known    bool             // its inventory
	bad      string           // requests with a return of this minion fail
}

func startUpper(t testing.TB) *upper {
	t.Helper()
	key, err := crypto.GenerateKey(2048)
	must(t, err)
	return startUpperOf(t, key)
}

// startUpperOf starts an upper master with a key. As with minions, several masters share one.
func startUpperOf(t testing.TB, key *crypto.PrivateKey) *upper {
	t.Helper()
	ports := freeport.New(t, 2)
	u := &upper{t: t, dir: t.TempDir(), reply: ports[0], public: ports[1], key: key}
	u.start()
	t.Cleanup(func() { u.stop() })
	return u
}

func (u *upper) address() string { return fmt.Sprintf("127.0.0.1:%d", u.reply) }

// start starts the master with new session keys.
func (u *upper) start() {
	u.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log := testsalt.Log(u.t)
	reply, err := zeromq.ListenReply(ctx, "tcp://"+u.address(), transport.Options{Log: log})
	must(u.t, err)
	public, err := zeromq.ListenPub(ctx, fmt.Sprintf("tcp://127.0.0.1:%d", u.public), transport.Options{Log: log})
	must(u.t, err)
	keys, err := pki.Open(filepath.Join(u.dir, "pki"), pki.Options{})
	must(u.t, err)
	u.keys = keys
	must(u.t, os.MkdirAll(filepath.Join(u.dir, "sessions"), 0o700))
	root, err := os.OpenRoot(filepath.Join(u.dir, "sessions"))
	must(u.t, err)
	secrets, err := channel.NewSecrets(root, 0)
	must(u.t, err)
	signIn := channel.NewSignInServer(u.key, keys, secrets, channel.SignInOptions{
		Policy: channel.Policy{OpenMode: !u.closed}, PublishPort: u.public, Log: log})
	server := channel.NewServer(u.key, keys, secrets, signIn, u, channel.ServerOptions{Log: log})
	u.publisher = channel.NewPublisher(u.key, secrets, public, channel.PublisherOptions{Sign: true, Syndics: true})
	var all sync.WaitGroup
	all.Go(func() { reply.Serve(ctx, server.Handle) })
	all.Go(func() { public.Serve(ctx) })
	u.stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		root.Close()
	})
}

// publish sends a publication.
func (u *upper) publish(p *job.Publication) {
	u.t.Helper()
	must(u.t, u.publisher.Publish(p, nil, 0))
}

func (u *upper) Clear(context.Context, *channel.Command) (any, error) {
	return nil, channel.ErrUnknownCommand
}
func (u *upper) NeedsProof(string) bool { return true }
func (u *upper) Effect(string) bool     { return false }

// Encrypted records a command.
func (u *upper) Encrypted(ctx context.Context, c *channel.Command) (any, error) {
	u.mu.Lock()
	busy := u.busy
	if c.Name == "_minion_event" && u.poison != "" && bytes.Contains(c.Load.Marshal(), []byte(u.poison)) {
		u.poisoned++
		busy = true
	}
	u.mu.Unlock()
	if busy {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	load := clone(u.t, c.Load.Marshal())
	switch {
	case c.Name == "_syndic_return" && (u.refuse || u.strict && !u.known):
		return data.NewMap(), nil
	case c.Name == "_syndic_return" && u.bad != "" && bytes.Contains(load.Raw("load"), []byte(u.bad)):
		return nil, errors.New("this master cannot handle it")
	case c.Name == "_syndic_return":
		u.order = append(u.order, "returns")
		u.raw = append(u.raw, load.Raw("load"))
		u.entries = append(u.entries, split(u.t, load.Raw("load"))...)
	case c.Name == "_minion_event" && load.Has("events"):
		for _, e := range split(u.t, load.Raw("events")) {
			u.note(e)
		}
		if u.bar != "" {
			return data.NewMap(job.Refused, u.bar), nil
		}
	case c.Name == "_minion_event":
		u.note(load)
	}
	return nil, nil
}

// note records an event. The caller holds mu.
func (u *upper) note(e payload.Fields) {
	u.events = append(u.events, e)
	if tag, _ := e.Text("tag"); tag == "salt/syndic/lower/minions" {
		u.order = append(u.order, data.Repr(e.Value("data").(*data.Map).Value("minions")))
	} else {
		u.order = append(u.order, tag)
	}
	switch tag, _ := e.Text("tag"); tag {
	case "salt/syndic/lower/start":
		u.started = true
	case "salt/syndic/lower/minions":
		u.known = u.started
	}
}

// forget makes the master forget the syndic and the events, and take returns from known syndics only.
func (u *upper) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.strict, u.started, u.known, u.events = true, false, false, nil
}

func clone(t testing.TB, b []byte) payload.Fields {
	t.Helper()
	f, err := payload.ParseFields(bytes.Clone(b), payload.WireLimits())
	must(t, err)
	return f
}

// split returns the maps in an encoded list.
func split(t testing.TB, list data.Raw) []payload.Fields {
	t.Helper()
	n, ok := payload.ListLen(list)
	if !ok {
		t.Errorf("%x is not a list", list)
		return nil
	}
	v, err := payload.UnmarshalText(list, payload.WireLimits())
	must(t, err)
	var all []payload.Fields
	for _, e := range v.([]any) {
		b, err := payload.MarshalBin(e)
		must(t, err)
		all = append(all, clone(t, b))
	}
	if len(all) != n {
		t.Errorf("%d of %d entries", len(all), n)
	}
	return all
}

// setBusy makes the master answer no requests.
func (u *upper) setBusy(busy bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.busy = busy
}

// returned returns how often a minion's return to a job was received.
func (u *upper) returned(jid job.ID, id string) (n int) {
	for _, e := range u.about(jid) {
		if m, ok := e.Value("return").(*data.Map); ok && m.Has(id) {
			n++
		}
	}
	return n
}

// about returns the entries about a job.
func (u *upper) about(jid job.ID) []payload.Fields {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.entries), func(f payload.Fields) bool {
		text, _ := f.Text("jid")
		return text != string(jid)
	})
}

// fired returns the data of the events with a tag.
func (u *upper) fired(tag string) []*data.Map {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []*data.Map
	for _, e := range u.events {
		if text, _ := e.Text("tag"); text == tag {
			if m, ok := e.Value("data").(*data.Map); ok {
				all = append(all, m)
			} else {
				all = append(all, data.NewMap("data", e.Value("data")))
			}
		}
	}
	return all
}

// A rig is a lower master with a syndic.
type rig struct {
	t      testing.TB
	lower  *testsalt.Master
	cfg    *config.Minion // of the syndic
	uppers []*upper
	log    *logrus.Logger
	order  func(context.Context) (syndic.Orderer, error) // nil means that of the lower master
	cache  syndic.JobReader
	set    map[string]string // options of the lower master
}

func newRig(t testing.TB, uppers ...*upper) *rig {
	t.Helper()
	dir := testsalt.Dir(t)
	cfg := testsalt.MasterConfig(filepath.Join(dir, "m"))
	r := &rig{t: t, lower: testsalt.StartMaster(t, cfg), uppers: uppers, log: testsalt.Log(t), set: map[string]string{}}
	r.cfg = testsalt.MinionConfig(filepath.Join(dir, "s"), "lower", "127.0.0.1:1")
	r.cfg.PublishPort = 0
	store, err := jobstore.OpenReadOnly(t.Context(), filepath.Join(cfg.CacheDir, "jobs.db"), jobstore.Options{Log: r.log})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	r.cache = store
	return r
}

// options returns the options of the syndic.
func (r *rig) options() syndic.Options {
	keys := pki.Visit(r.lower.Config.PKIDir, pki.Options{})
	order := r.order
	if order == nil {
		order = r.orderBelow
	}
	return syndic.Options{
		Ports: syndic.Ports{
			Request:   func(d transport.Dialer) transport.Requester { return zeromq.NewRequester(d) },
			Subscribe: func(d transport.Dialer, t ...string) transport.Subscriber { return zeromq.NewSubscriber(d, t...) },
		},
		Order: order, Keys: keys, Log: r.log,
		Jobs: func() syndic.JobReader { return r.cache },
	}
}

// A local closes its requester.
type local struct {
	*client.Local
	out transport.Requester
}

func (l local) Close() error {
	l.out.Close()
	return l.Local.Close()
}

func (r *rig) orderBelow(ctx context.Context) (syndic.Orderer, error) {
	out := zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + r.lower.Address})
	l, err := client.Open(ctx, client.Options{CacheDir: r.lower.Config.CacheDir, SockDir: r.lower.Config.SockDir,
		User: "root", Caller: "root", Out: out, Log: r.log})
	if err != nil {
		out.Close()
		return nil, err
	}
	return local{l, out}, nil
}

// master returns the configuration of the lower master as its syndic reads it.
func (r *rig) master(addresses []any) *config.Master {
	r.t.Helper()
	dir := r.t.TempDir()
	text := ""
	for name, value := range r.set {
		text += name + ": " + value + "\n"
	}
	must(r.t, os.WriteFile(filepath.Join(dir, "master"), []byte(text), 0o600))
	cfg, _, err := config.LoadMaster(dir, func(string) string { return "" })
	must(r.t, err)
	from := r.lower.Config
	cfg.CacheDir, cfg.SockDir, cfg.PKIDir = from.CacheDir, from.SockDir, from.PKIDir
	cfg.SyndicMaster = addresses
	return cfg
}

// A running syndic.
type running struct {
	*syndic.Syndic
	stop func()
}

// start starts the syndic, and waits until its upper masters know it.
func (r *rig) start() *running {
	r.t.Helper()
	return r.startWith(func(*syndic.Syndic) {})
}

// startWith is start; prepare is called before the syndic runs.
func (r *rig) startWith(prepare func(*syndic.Syndic)) *running {
	r.t.Helper()
	var addresses []any
	for _, u := range r.uppers {
		addresses = append(addresses, u.address())
	}
	master := r.master(addresses)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := syndic.New(ctx, master, r.cfg, r.options())
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	prepare(s)
	done := make(chan error, 1)
	ready := make(chan struct{})
	go func() { done <- s.Run(ctx, func() { close(ready) }) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run = %v", err)
		}
	})
	r.t.Cleanup(stop)
	<-ready
	return &running{s, stop}
}

// startKnown is start; it returns when all upper masters have the inventory.
func (r *rig) startKnown() *running {
	r.t.Helper()
	s := r.start()
	for _, u := range r.uppers {
		eventually(r.t, "inventory of the syndic", func() bool { return len(u.fired("salt/syndic/lower/minions")) > 0 })
	}
	eventually(r.t, "connection to the lower bus", func() bool { return !strings.Contains(s.Status(), "away") })
	return s
}

// minion starts a minion of the lower master.
func (r *rig) minion(id string) *testsalt.Minion {
	r.t.Helper()
	bus := r.lower.Listen(r.t, "salt/minion/"+id+"/start")
	m := testsalt.StartMinion(r.t, testsalt.MinionConfig(testsalt.Dir(r.t), id, r.lower.Address))
	testsalt.AwaitEvent(r.t, bus, "salt/minion/"+id+"/start")
	return m
}

// fire fires an event on the bus of the lower master.
func (r *rig) fire(tag string, body *data.Map) {
	r.t.Helper()
	bus := r.lower.Listen(r.t, "none")
	must(r.t, bus.Fire(r.t.Context(), tag, body))
}

// giveReturn sends the return of a minion to the lower master's bus.
func (r *rig) giveReturn(jid job.ID, id string, value any) {
	r.t.Helper()
	r.fire("salt/job/"+string(jid)+"/ret/"+id, data.NewMap("jid", string(jid), "id", id, "return", value,
		"retcode", int64(0), "success", true, "fun", "test.ping", "fun_args", []any{}, "cmd", "_return"))
}

var ids = job.NewIDs(nil)

func ping(target any, kind string) *job.Publication {
	return &job.Publication{JID: ids.Next(), Fun: []string{"test.ping"}, Target: target, TargetType: kind, User: "root", To: 10}
}

// A memoryCache is a job cache in memory.
type memoryCache struct {
	mu      sync.Mutex
	jobs    map[job.ID]*returners.Job
	returns map[job.ID][]returners.Return
}

func newMemoryCache() *memoryCache {
	return &memoryCache{jobs: map[job.ID]*returners.Job{}, returns: map[job.ID][]returners.Return{}}
}

func (c *memoryCache) Job(_ context.Context, id job.ID) (*returners.Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j, nil
	}
	return nil, returners.ErrUnknownJob
}

func (c *memoryCache) Returns(_ context.Context, id job.ID) ([]returners.Return, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.returns[id]), nil
}

// add stores the return of a minion, with its job.
func (c *memoryCache) add(t testing.TB, jid job.ID, id string, value any) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	load, err := payload.MarshalBin(data.NewMap("jid", string(jid), "fun", "test.ping", "tgt", "*", "tgt_type", "glob", "arg", []any{}))
	must(t, err)
	if c.jobs[jid] == nil {
		c.jobs[jid] = &returners.Job{ID: jid, Load: load, Started: time.Now()}
	}
	c.jobs[jid].Minions = append(c.jobs[jid].Minions, id)
	ret, err := payload.MarshalBin(data.NewMap("jid", string(jid), "id", id, "return", value, "retcode", int64(0),
		"success", true, "fun", "test.ping", "fun_args", []any{}))
	must(t, err)
	c.returns[jid] = append(c.returns[jid], returners.Return{Minion: id, Load: ret, Received: time.Now()})
}
