package testsalt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/transport"
)

// pillarMaster runs a master with files of pillar, by their names, and further options.
func pillarMaster(t *testing.T, dir string, files map[string]string, lines ...string) *testsalt.Master {
	t.Helper()
	for _, folder := range []string{"pillar", "srv"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	lines = append(lines, "pillar_roots: {base: ['"+dir+"/pillar']}", "file_roots: {base: ['"+dir+"/srv']}")
	return testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), lines...))
}

// kept returns the master's cached pillar of a minion.
func kept(t *testing.T, m *testsalt.Master, id string) *data.Map {
	t.Helper()
	bank, err := localfs.Open(m.Config.CacheDir)
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	_, pillar, _ := minions.Cache{Bank: bank}.Minion(id)
	return pillar
}

// returned submits a job to web1 and returns its return.
func returned(t *testing.T, m *testsalt.Master, fun string, args ...any) any {
	t.Helper()
	l := m.Client(t)
	j, err := l.Publish(t.Context(),
		client.Request{Target: "web1", Kind: "list", Fun: fun, Arg: args, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range l.Results(t.Context(), j,
		client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
		if err != nil || r.Missing {
			t.Fatalf("%s: %v, missing %v", fun, err, r.Missing)
		}
		return r.Value
	}
	return nil
}

// TestMinionGetsItsPillar checks that a minion receives the pillar of its top file, by id, grains
// and the functions of the master with files of salt://; a change is seen at the next refresh.
func TestMinionGetsItsPillar(t *testing.T) {
	dir := testsalt.Dir(t)
	m := pillarMaster(t, dir, map[string]string{
		"pillar/top.sls": "base:\n  'web*': [web]\n  'G@role:db': [db]\n  'no:thing': [{match: grain}, db]\n",
		"pillar/web.sls": "{% from 'map.jinja' import port %}\nid: {{ grains.id }} {{ opts.id }}\nport: {{ port }}\nmotd: {{ salt['cp.get_file_str']('salt://motd') | trim }}\n" +
			"out: {{ salt['cmd.run']('echo hello') }}\nrunner: {{ salt['saltutil.runner']('test.arg', arg=['x'])['args'] }}\n",
		"pillar/map.jinja": "{% set port = 80 %}",
		"pillar/db.sls":    "db: yes",
		"srv/motd":         "welcome",
	})
	starts := m.Listen(t, "salt/minion/")
	minionWith(t, filepath.Join(dir, "n"), m.Address, "grains: {role: web}")
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	want := "{'id': 'web1 web1', 'port': 80, 'motd': 'welcome', 'out': 'hello', 'runner': ['x']}"
	if got := data.Repr(kept(t, m, "web1")); got != want {
		t.Errorf("the master keeps %s, want %s", got, want)
	}
	if got := returned(t, m, "pillar.get", "motd"); got != "welcome" {
		t.Errorf("the minion has %v", got)
	}
	write(t, filepath.Join(dir, "pillar/map.jinja"), "{% set port = 81 %}")
	if got := returned(t, m, "saltutil.refresh_pillar", "wait=True"); got != true {
		t.Errorf("refresh: %v", got)
	}
	if got := returned(t, m, "pillar.get", "port"); got != int64(81) {
		t.Errorf("after the change it has %v", got)
	}
}

// TestCVE2024_37088 has an SLS that does not render: the minion is told so without the reason, and
// the master continues.
func TestCVE2024_37088(t *testing.T) {
	dir := testsalt.Dir(t)
	const secret = "MARKER-SECRET"
	m := pillarMaster(t, dir, map[string]string{
		"pillar/top.sls":  "base: {'*': [good, bad, worse]}\n",
		"pillar/good.sls": "a: 1", "pillar/bad.sls": "password: " + secret +
			"\nx: {{ nothing.at.all }}\n", "pillar/worse.sls": "password: " + secret + "\n  - no: [yaml\n",
	})
	hook := &keepLog{}
	m.Log.AddHook(hook)
	starts := m.Listen(t, "")
	minionWith(t, filepath.Join(dir, "n"), m.Address)
	for {
		e := testsalt.AwaitEvent(t, starts, "")
		if strings.Contains(string(e.Data), secret) {
			t.Errorf("event %s shows a secret", e.Tag)
		}
		if e.Tag == "salt/minion/web1/start" {
			break
		}
	}
	want := "{'a': 1, '_errors': [\"Rendering SLS 'bad' failed. Please see master log for details.\", \"Rendering SLS 'worse' failed. Please see master log for details.\"]}"
	if got := data.Repr(kept(t, m, "web1")); got != want {
		t.Errorf("the pillar is %s, want %s", got, want)
	}
	told := hook.above(logrus.DebugLevel)
	for _, want := range []string{"Rendering SLS 'bad' failed, render error: Jinja variable 'nothing' is undefined; line 2", "Rendering SLS 'worse' failed"} {
		if !strings.Contains(told, want) {
			t.Errorf("the log says\n%s\nnot %s", told, want)
		}
	}
	if strings.Contains(told, secret) {
		t.Errorf("the log shows a secret:\n%s", told)
	}
	if got := returned(t, m, "test.ping"); got != true {
		t.Errorf("ping: %v", got)
	}
}

// keepLog records log lines.
type keepLog struct {
	mu      sync.Mutex
	entries []*logrus.Entry
}

func (*keepLog) Levels() []logrus.Level { return logrus.AllLevels }

func (k *keepLog) Fire(e *logrus.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries = append(k.entries, e)
	return nil
}

// above returns the lines above a level.
func (k *keepLog) above(level logrus.Level) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	for _, e := range k.entries {
		if e.Level < level {
			fmt.Fprintf(&b, "%s %v\n", e.Message, e.Data)
		}
	}
	return b.String()
}

// trusting accepts any key of a master.
type trusting struct {
	mu  sync.Mutex
	pem string
}

func (k *trusting) Master() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pem, nil
}

func (k *trusting) SetMaster(_, pem string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pem = pem
	return nil
}

func (*trusting) Signing() ([]string, error) { return nil, errors.New("there is none") }

// TestMinionsAskForPillarAtOnce has fifty minions request their pillar at the same time; each gets
// its own, twice.
func TestMinionsAskForPillarAtOnce(t *testing.T) {
	dir := testsalt.Dir(t)
	m := pillarMaster(t, dir, map[string]string{"pillar/top.sls": "base: {'m*': [a], 'G@id:m7': [seven]}\n",
		"pillar/a.sls": "id: {{ grains.id }}\nlist: {{ range(200) | list }}\nout: {{ salt['test.echo'](grains.id) }}\n", "pillar/seven.sls": "seven: yes"})
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := cli.HostWire(m.Config.Map())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			id := fmt.Sprint("m", i)
			out := wire.Request(transport.Dialer{Addr: "tcp://" + m.Address})
			defer out.Close()
			c, err := channel.NewClient(key, &trusting{}, out,
				channel.ClientOptions{ID: id, Timeout: time.Minute, Tries: 2,
					AuthTimeout: 30 * time.Second, AuthTries: 5, Log: m.Log})
			if err != nil {
				t.Error(err)
				return
			}
			for range 2 {
				got, err := c.Pillar(t.Context(),
					data.NewMap("cmd", "_pillar", "id", id, "grains", data.NewMap("id", id),
						"saltenv", "base", "ver", "2"))
				if err != nil || got.Text("id") != id || got.Text("out") != id ||
					got.Has("seven") != (i == 7) {
					t.Errorf("%s gets %.200s, %v", id, data.Repr(got), err)
				}
			}
		})
	}
	all.Wait()
}

// TestReactionsAreTemplates reacts to an event with a file of salt:// that uses the event's data
// and a function of the master.
func TestReactionsAreTemplates(t *testing.T) {
	dir := testsalt.Dir(t)
	m := pillarMaster(t, dir, map[string]string{
		"srv/go.sls":    "{% from 'who.jinja' import who %}\n{% if data['n'] > 1 %}\ngreet:\n  local.test.echo:\n    - tgt: {{ who }}\n    - args:\n      - text: {{ tag }} {{ salt['test.echo'](data.n) }}\n{% endif %}\n",
		"srv/who.jinja": "{% set who = 'web1' %}",
	}, "reactor: [{'my/*': ['salt://go.sls']}]")
	starts := m.Listen(t, "salt/minion/")
	events := m.Listen(t, "salt/job/")
	minionWith(t, filepath.Join(dir, "n"), m.Address)
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	for _, n := range []int64{1, 2} {
		if err := events.Fire(t.Context(), "my/event", data.NewMap("n", n)); err != nil {
			t.Fatal(err)
		}
	}
	expectReturn(t, events, "test.echo", "my/event 2")
}

// TestMasterTops calls the program of ext_nodes with the authenticated minion, whatever its options
// say.
func TestMasterTops(t *testing.T) {
	dir := testsalt.Dir(t)
	script := filepath.Join(dir, "nodes")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"classes: [for.$1]\"\necho 'environment: base'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := pillarMaster(t, dir, nil, "master_tops: {ext_nodes: "+script+"}")
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := cli.HostWire(m.Config.Map())
	if err != nil {
		t.Fatal(err)
	}
	out := wire.Request(transport.Dialer{Addr: "tcp://" + m.Address})
	defer out.Close()
	c, err := channel.NewClient(key, &trusting{}, out,
		channel.ClientOptions{ID: "web1", Timeout: time.Minute, AuthTimeout: 30 * time.Second,
			AuthTries: 5, Log: m.Log})
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []string{"_master_tops", "_ext_nodes"} {
		got, err := c.Call(t.Context(),
			data.NewMap("cmd", cmd, "id", "web1",
				"opts", data.NewMap("id", "db1", "grains", data.NewMap("id", "db1"))))
		if err != nil || data.Repr(got) != "{'base': ['for.web1']}" {
			t.Errorf("%s: %s, %v", cmd, data.Repr(got), err)
		}
	}
}
