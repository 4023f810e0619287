package master

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/returners"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/transport"
	wheels "github.com/brineproject/brine/wheel"
)

// bench is a master without a network, until it listens.
type bench struct {
	*Master
	socket *socket
	jobs   *memoryJobs
	wire   *wire
	cfg    *config.Master
	keys   *pki.Dir
	bus    *eventbus.Bus
	key    string // of root
}

// newBench opens a master in which the given minions are accepted.
func newBench(t testing.TB, change func(*config.Master), accepted ...string) *bench {
	t.Helper()
	dir := t.TempDir()
	cfg := config.DefaultMaster()
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = filepath.Join(dir, "pki"), filepath.Join(dir, "cache"),
		filepath.Join(dir, "run")
	cfg.User = "root"
	if change != nil {
		change(cfg)
	}
	b := &bench{jobs: newMemoryJobs(), wire: &wire{}, cfg: cfg}
	var err error
	if b.keys, err = pki.Open(cfg.PKIDir, pki.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, id := range accepted {
		if err := b.keys.Put(pki.Accepted, id, vectorKey(t, "web1").Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	pair := vectorKey(t, "db1") // making one takes a while
	if err := errors.Join(b.keys.WriteText("master.pem", string(pair.PEM(""))),
		b.keys.WriteText("master.pub", pair.Public().PEM())); err != nil {
		t.Fatal(err)
	}
	ports := Ports{
		Reply: func(context.Context, string, transport.Options) (transport.Replier, error) { return noReplies{}, nil },
		Publish: func(context.Context, string, transport.Options) (PublishPort, error) {
			return b.wire, nil
		},
		Submit: func(context.Context, string, transport.Options) (Service, error) { return b.wire, nil },
	}
	if b.Master, err = New(t.Context(), cfg, Options{
		Ports: ports, Jobs: func(context.Context) (returners.JobCache, error) { return b.jobs, nil },
		Runners: stdrunners.Plugins, Wheel: wheels.Plugins,
		Render: render.Brought{Renderers: stdrender.Renderers()},
		Login:  testLogin, RefusalTime: 10 * time.Millisecond, Log: silent(t),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	key, err := os.ReadFile(filepath.Join(cfg.CacheDir, ".root_key"))
	if err != nil {
		t.Fatal(err)
	}
	b.key, b.bus = string(key), b.parts.bus
	return b
}

// requests05 is the file of requests, which is long: it is decoded once. Nobody changes it.
var requests05 = sync.OnceValues(func() (*data.Map, error) {
	src, err := os.ReadFile(filepath.Join(vectors.Dir(), "05-request.json"))
	if err != nil {
		return nil, err
	}
	v, err := vectors.Decode(src)
	top, _ := v.(*data.Map)
	return top, err
})

// vectorKey returns the key of a minion in the file of requests.
func vectorKey(t testing.TB, id string) *crypto.PrivateKey {
	t.Helper()
	top, err := requests05()
	if err != nil {
		t.Fatal(err)
	}
	name := top.Value("minions").(*data.Map).Text(id)
	pem := top.Value("keys").(*data.Map).Value(name).(*data.Map).Text("pem")
	key, err := crypto.ParsePrivateKey([]byte(pem), "")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

type noReplies struct{}

func (noReplies) Serve(ctx context.Context, _ transport.Handler) error { <-ctx.Done(); return nil }
func (noReplies) Addr() net.Addr                                       { return &net.TCPAddr{} }
func (noReplies) Stats() transport.Stats                               { return transport.Stats{} }
func (noReplies) Close() error                                         { return nil }

// request is one message to the request port.
type request struct {
	body, reply []byte
	trusted     bool
	session     any
}

func (r *request) Body() []byte         { return r.body }
func (r *request) Remote() net.Addr     { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5} }
func (r *request) Reply(b []byte) error { r.reply = b; return nil }
func (r *request) Session() any         { return r.session }
func (r *request) SetSession(v any)     { r.session = v }
func (r *request) Trust()               { r.trusted = true }
func (b *bench) ask(body []byte) []byte {
	if b.socket != nil {
		return b.socket.do(body)
	}
	r := &request{body: body}
	b.server.Handle(context.Background(), r)
	return r.reply
}

func TestVectorPublish(t *testing.T) {
	f := vectors.Load(t, "07-clear-requests.json")
	sections := []string{"mk_token", "publish", "get_token", "ping", "unknown", "no"}
	vectors.Later(t, f, sections, map[string]string{"runner": "TestVectorRunnerAndWheel",
		"wheel": "TestVectorRunnerAndWheel", "from_programs": "client"})
	b := newBench(t, func(c *config.Master) {
		opts := f.Top.Value("master_opts").(*data.Map)
		c.MinimumAuthVersion, c.ExternalAuth, c.PublisherACL = 0,
			opts.Value("external_auth").(*data.Map), opts.Value("publisher_acl").(*data.Map)
	}, "db1", "gone1", "web1", "web2")
	given := f.Top.Text("root_key_file_text")
	tokens := map[string]string{} // ours for those of the file
	for _, section := range sections {
		for _, c := range f.Section(section) {
			t.Run(section+"/"+c.Name, func(t *testing.T) {
				if strings.HasSuffix(c.Name, "publish no user") {
					need.Root(t, "to have the key of who runs the test, which an order without a name is proved with")
				}
				c := c.On(t)
				b.check(t, c, given, tokens)
			})
		}
	}
}

// check sends the request of a case with this master's key in place of the captured one, and
// compares the reply.
func (b *bench) check(t *testing.T, c *vectors.Case, given string, tokens map[string]string) {
	t.Helper()
	request := data.Clone(c.Value("request")).(*data.Map)
	load := request.Value("load").(*data.Map)
	if load.Text("key") == given {
		load.Set("key", b.key)
	}
	ownToken(load, tokens)
	if kwargs, ok := load.Value("kwargs").(*data.Map); ok {
		ownToken(kwargs, tokens)
	}
	body, err := payload.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	before := len(b.wire.messages())
	got, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	want := data.Clone(c.Value("reply"))
	ownFields(t, got)
	sameJob(t, got, want, load)
	sameToken(t, got, want, tokens)
	if !data.Equal(got, want) {
		t.Errorf("reply is\n%s\nwant\n%s", data.Repr(got), data.Repr(want))
	}
	jid := jidOf(want)
	if sent := len(b.wire.messages()) - before; sent != map[bool]int{true: 1}[jid != nil] {
		t.Errorf("%d publications went out for the job %v", sent, jid)
	}
}

// ownFields takes out what replies of ours have besides: absent, which names all minions here, as
// none is connected.
func ownFields(t *testing.T, reply any) {
	t.Helper()
	m, _ := reply.(*data.Map)
	load, _ := m.Value("load").(*data.Map)
	absent, ok := load.Get("absent")
	if ok && !data.Equal(absent, load.Value("minions")) {
		t.Errorf("absent is %s", data.Repr(absent))
	}
	if ok {
		load.Delete("absent")
	}
}

func jidOf(reply any) any {
	m, _ := reply.(*data.Map)
	load, _ := m.Value("load").(*data.Map)
	return load.Value("jid")
}

// sameJob puts the id that this master gave in the place of the captured one.
func sameJob(t *testing.T, got, want any, load *data.Map) {
	t.Helper()
	wantJID, ok := jidOf(want).(string)
	if !ok || load.Text("jid") != "" {
		return
	}
	id, _ := jidOf(got).(string)
	if _, err := job.ParseID(id); err != nil {
		t.Errorf("reply has the job id %q, where Salt gave %s", id, wantJID)
	}
	want.(*data.Map).Value("load").(*data.Map).Set("jid", id)
}

func TestPublishedIsKeptAndAnnouncedBeforeTheReply(t *testing.T) {
	b := newBench(t, nil, "web1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	load := data.NewMap("cmd", "publish", "tgt", "*", "fun", "test.echo", "arg", []any{"x"},
		"tgt_type", "glob", "ret", "", "jid", "", "kwargs",
		data.NewMap("metadata", data.NewMap("a", int64(1))), "key", b.key, "user", "root")
	body, _ := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
	reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	id, _ := jidOf(reply).(string)
	kept, err := b.jobs.Job(t.Context(), job.ID(id))
	if err != nil {
		t.Fatalf("job %s is not kept: %v", id, err)
	}
	if strings.Contains(string(kept.Load), b.key) {
		t.Error("the key lies in the job cache")
	}
	for _, want := range []string{id, "salt/job/" + id + "/new", "salt/job/" + id + "/publish"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		e, err := events.Next(ctx)
		cancel()
		if err != nil || e.Tag != want {
			t.Errorf("event %q, %v, want %q", e.Tag, err, want)
		}
		if strings.Contains(string(e.Data), b.key) {
			t.Errorf("the key is in event %s", e.Tag)
		}
	}
	name, _ := job.ID(id).Dir("sha256")
	if _, err := os.Stat(filepath.Join(b.cfg.CacheDir, "jobs", filepath.FromSlash(name),
		".load.p")); err != nil {
		t.Errorf("Salt's command line will not find the job: %v", err)
	}
}

func TestNoKeyNoTraces(t *testing.T) {
	b := newBench(t, nil, "web1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	for _, key := range []any{"", "x", nil, int64(5), []any{b.key}, b.key[:75], b.key + "a"} {
		load := data.NewMap("cmd", "publish", "tgt", "*", "fun", "test.ping", "arg", []any{},
			"tgt_type", "glob", "ret", "", "jid", "20230102030405060709", "key", key, "user", "root")
		body, _ := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
		reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
		if want := refusal("AuthenticationError", "Authentication error occurred."); err != nil ||
			!data.Equal(reply, want) {
			t.Errorf("key %v: reply %s, %v", key, data.Repr(reply), err)
		}
	}
	if ids := b.jobs.all(); len(ids) > 0 || len(b.wire.messages()) > 0 {
		t.Errorf("jobs %v and %d publications came of it", ids, len(b.wire.messages()))
	}
}

var _ channel.Handler = (*requests)(nil)
