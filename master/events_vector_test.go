package master_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/vectors"
)

// laterLife are the actions of the section life that need what is not there yet.
var laterLife = map[string]string{
	"state run with a failure":     "states",
	"state run with events on":     "states",
	"runner":                       "runners",
	"runner failing":               "runners",
	"event.send from the master":   "runners",
	"event.send from a minion":     "module event",
	"event.fire on the minion bus": "module event",
	"mine update":                  "mine",
	"salt-call with master":        "salt-call",
	"batch":                        "batches",
	"idle (beacons, presence)":     "beacons; presence and rotation are tested in the package",
}

// jobsOfLife are what actions with salt give to minions.
var jobsOfLife = map[string]client.Request{
	"test.ping job": {Target: "web1", Fun: "test.ping"},
	"multi function job": {Target: "web1", Fun: []any{"test.ping", "test.echo"},
		Arg: []any{[]any{}, []any{"hi"}}},
	"job on two minions": {Target: []any{"web1", "db1"}, Kind: "list", Fun: "test.arg",
		Arg: []any{"a", data.NewMap("__kwarg__", true, "k", "v")}},
	"failing function": {Target: "web1", Fun: "test.exception", Arg: []any{"boom"}},
	"unknown function": {Target: "web1", Fun: "test.nosuch"},
	"find_job":         {Target: "web1", Fun: "test.sleep", Arg: []any{int64(3)}},
	"refresh pillar":   {Target: "web1", Fun: "saltutil.refresh_pillar"},
	"refresh modules":  {Target: "web1", Fun: "saltutil.refresh_modules"},
}

// TestVectorEventLife does what was done with Salt and expects the same events on the buses of
// master and minion: the same tags, with the same keys in the same order.
func TestVectorEventLife(t *testing.T) {
	t.Parallel()
	f := vectors.Load(t, "08-events.json")
	cases := map[string]*vectors.Case{}
	for _, c := range f.Section("life") {
		name := c.Text("action")
		cases[name] = c
		_, isJob := jobsOfLife[name]
		if _, later := laterLife[name]; !isJob && !later && !slices.Contains(lifeOfAMinion, name) &&
			name != startOfLife {
			t.Errorf("action %q is not known to this test", name)
		}
	}
	s := newLife(t, cases[startOfLife])
	for _, name := range slices.Sorted(maps.Keys(jobsOfLife)) {
		t.Run(name, func(t *testing.T) { s.job(t, cases[name], jobsOfLife[name]) })
	}
	lifeOfNewMinion(t, cases)
}

// unorderedLife are the actions whose events come from two senders at once, in an order of chance:
// two minions, or a job and the minion that forwards the events of its own bus.
var unorderedLife = []string{"job on two minions", "refresh pillar", "failing function"}

const startOfLife = "start of the environment (master, then minions with accepted keys)"

// life is a running master with two minions, and listeners on its bus and on that of web1.
type life struct {
	master         *testsalt.Master
	bus, minionBus *eventbus.Client
}

// newLife starts everything and compares what each minion made happen until it was ready.
func newLife(t *testing.T, start *vectors.Case) *life {
	dir := testsalt.Dir(t)
	s := &life{master: testsalt.StartMaster(t, testsalt.MasterConfig(dir))}
	s.bus = s.master.Listen(t)
	begin := s.master.Listen(t)
	for _, id := range []string{"web1", "db1"} {
		cfg := testsalt.MinionConfig(filepath.Join(dir, id), id, s.master.Address)
		cfg.SockDir = filepath.Join(dir, id[:1])
		testsalt.StartMinion(t, cfg)
		testsalt.AwaitEvent(t, s.bus, "salt/minion/"+id+"/start")
		want := eventsOf(start.Sub("master_bus"), id)
		if got := collect(t, begin, len(want)); !cmp.Equal(want, got) {
			t.Errorf("events of the start of %s: %s", id, cmp.Diff(want, got))
		}
		if id == "web1" {
			s.minionBus = dialMinion(t, cfg.SockDir, id, cfg.HashType)
		}
	}
	return s
}

func dialMinion(t *testing.T, dir, id, hash string) *eventbus.Client {
	t.Helper()
	sockets, err := eventbus.MinionSockets(dir, id, hash)
	if err != nil {
		t.Fatal(err)
	}
	c, err := eventbus.Dial(t.Context(), sockets, eventbus.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// job runs a job and compares the events of both buses.
func (s *life) job(t *testing.T, c *vectors.Case, r client.Request) {
	c = c.On(t)
	drain(t, s.bus)
	drain(t, s.minionBus)
	if r.Kind == "" {
		r.Kind = "glob"
	}
	l := s.master.Client(t)
	j, err := l.Publish(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Results(t.Context(), j,
		client.Wait{Timeout: time.Second, Gather: 10 * time.Second}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, side := range []struct {
		name string
		bus  *eventbus.Client
	}{{"master_bus", s.bus}, {"minion_bus", s.minionBus}} {
		want := linesOf(c.Sub(side.name))
		got := collect(t, side.bus, len(want))
		if slices.Contains(unorderedLife, c.Map.Text("action")) {
			slices.Sort(want)
			slices.Sort(got)
		}
		if !cmp.Equal(want, got) {
			t.Errorf("%s: %s", side.name, cmp.Diff(want, got))
		}
	}
}

var jids = regexp.MustCompile(`\d{20}`)

// naming gives job ids names by the order in which they turn up.
type naming map[string]string

func (n naming) line(tag string, keys []any) string {
	tag = jids.ReplaceAllStringFunc(tag, func(id string) string {
		if n[id] == "" {
			n[id] = fmt.Sprintf("JID%d", len(n)+1)
		}
		return n[id]
	})
	// of protocol version 3
	keys = slices.DeleteFunc(slices.Clone(keys), func(k any) bool { return k == "ts" })
	if i := slices.Index(keys, any("out")); i >= 0 { // stands where the kind of failure puts it, or last
		keys = slices.Insert(slices.Delete(keys, i, i+1), len(keys)-2, any("out"))
	}
	return fmt.Sprint(tag, " ", keys)
}

// beside reports whether an event is no part of an action: beacons, and what minions of this
// version do not do.
func beside(tag string) bool {
	return strings.HasPrefix(tag, "salt/beacon/") || tag == "__beacons_return" ||
		strings.HasPrefix(tag, "salt/presence/") || tag == "_minion_mine"
}

func linesOf(frames []*vectors.Case) (lines []string) {
	n := naming{}
	for _, f := range frames {
		if tag := f.Text("tag"); !beside(tag) {
			lines = append(lines, n.line(tag, f.List("data_key_order")))
		}
	}
	return lines
}

// eventsOf returns the events that concern minion id, up to the first job.
func eventsOf(frames []*vectors.Case, id string) (lines []string) {
	n := naming{}
	for _, f := range frames {
		tag, m := f.Text("tag"), f.Object("data")
		if jids.MatchString(tag) {
			break
		}
		if !beside(tag) && (m.Text("id") == id || m.Text("Minion data cache refresh") == id) {
			lines = append(lines, n.line(tag, f.List("data_key_order")))
		}
	}
	return lines
}

// collect reads as many events as are wanted, and those that lie on the bus besides. Events that
// only Salt 3007 has are left out.
func collect(t *testing.T, bus *eventbus.Client, wanted int) (lines []string) {
	t.Helper()
	return collectUntil(t, bus, func(lines []string) bool { return len(lines) >= wanted })
}

// collectUntil is collect until there is enough.
func collectUntil(t *testing.T, bus *eventbus.Client, enough func([]string) bool) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	n := naming{}
	for marked := false; ; {
		if !marked && enough(lines) {
			marked = true
			if err := bus.Fire(ctx, "test/end", data.NewMap()); err != nil {
				t.Fatal(err)
			}
		}
		e, err := bus.Next(ctx)
		if err != nil || e.Tag == "test/end" && marked {
			return lines
		}
		m, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		if !beside(e.Tag) && e.Tag != "test/end" && !strings.HasSuffix(e.Tag, "/publish") &&
			!strings.Contains(e.Tag, "/ack/") {
			lines = append(lines, n.line(e.Tag, m.Keys()))
		}
	}
}

// drain reads what lies on the bus.
func drain(t *testing.T, bus *eventbus.Client) {
	t.Helper()
	collect(t, bus, 0)
}

// lifeOfAMinion are the actions in the life of a minion that nobody knows at first, in their order.
var lifeOfAMinion = []string{"new minion: key pending", "salt-key -a, minion retries and starts",
	"minion stopped", "salt-key -d"}

func lifeOfNewMinion(t *testing.T, cases map[string]*vectors.Case) {
	dir := testsalt.Dir(t)
	cfg := testsalt.MasterConfig(dir)
	cfg.AutoAccept = false
	m := testsalt.StartMaster(t, cfg)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("pki_dir: %s\ncachedir: %s\nsock_dir: %s\nuser: %s\nlog_file: %s/log\nkey_logfile: %[5]s/keylog\n",
		cfg.PKIDir, cfg.CacheDir, cfg.SockDir, me.Username, dir)
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	bus := m.Listen(t)
	var minion *testsalt.Minion
	actions := map[string]func(){
		lifeOfAMinion[0]: func() {
			minion = testsalt.StartMinion(t, testsalt.MinionConfig(dir+"/n", "new1", m.Address))
		},
		lifeOfAMinion[1]: func() { saltKey(t, dir, "-y", "-a", "new1") },
		lifeOfAMinion[2]: func() { _ = minion.Stop() },
		lifeOfAMinion[3]: func() { saltKey(t, dir, "-y", "-d", "new1") },
	}
	for _, name := range lifeOfAMinion {
		t.Run(name, func(t *testing.T) {
			want := slices.Compact(linesOf(cases[name].On(t).Sub("master_bus")))
			actions[name]()
			enough := func(lines []string) bool { return len(want) == 0 || slices.Contains(lines, want[len(want)-1]) }
			got := withoutWaiting(collectUntil(t, bus, enough), name)
			if !cmp.Equal(want, got) {
				t.Errorf("events: %s", cmp.Diff(want, got))
			}
		})
	}
}

// withoutWaiting drops what a minion that waits or signs in once more, and the master's look for
// deleted keys, may add at any time.
func withoutWaiting(lines []string, action string) []string {
	if action == lifeOfAMinion[3] {
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "key ") })
	}
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "salt/key ") }); i > 0 {
		lines = lines[i:]
	}
	signedIn := false
	return slices.DeleteFunc(slices.Compact(lines), func(l string) bool {
		again := signedIn && strings.HasPrefix(l, "salt/auth ")
		signedIn = signedIn || strings.HasPrefix(l, "salt/auth ")
		return again
	})
}

func saltKey(t *testing.T, dir string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", dir}, args...), Env: os.Getenv,
		Stdin: strings.NewReader(""), Dir: dir}
	if code := cli.Key(t.Context(), in, &out, &errs); code != 0 {
		t.Fatalf("salt-key %v = %d\n%s%s", args, code, out.String(), errs.String())
	}
}
