package master

import (
	"context"
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// as runs do with the user ids of a user, on a thread that ends with it.
func as(t *testing.T, name string, do func()) {
	t.Helper()
	uid := uidNamed(t, name)
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			done <- e
			return
		}
		do()
		done <- nil
	}()
	must(t, <-done)
}

func uidNamed(t *testing.T, name string) int {
	t.Helper()
	u, err := user.Lookup(name)
	must(t, err)
	uid, err := strconv.Atoi(u.Uid)
	must(t, err)
	return uid
}

// TestUsersReadTheEventsOfTheirJobs has users of publisher_acl listen at the bus: to what they
// ordered by their key and by a login, to what others ordered, to events that are about no job, and
// with the right to read everything.
func TestUsersReadTheEventsOfTheirJobs(t *testing.T) {
	need.Root(t, "to become other users")
	b := newBench(t, func(c *config.Master) {
		c.PublisherACL = data.NewMap("daemon", []any{"test.ping"}, "bin", []any{"test.ping"},
			"nobody", []any{"@events"})
		c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{"test.*", "@runner"}))
	}, "web1")
	must(t, os.Chmod(filepath.Dir(filepath.Dir(b.cfg.SockDir)), 0o755))
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- b.serveBus(ctx, func() { close(ready) }) }()
	defer func() { stop(); must(t, <-done) }()
	<-ready

	readers := map[string]*eventbus.Client{}
	for _, name := range []string{"root", "daemon", "bin", "nobody"} {
		as(t, name, func() {
			c, err := eventbus.Dial(ctx, eventbus.MasterSockets(b.cfg.SockDir), eventbus.ClientOptions{})
			if err != nil {
				t.Errorf("%s connects: %v", name, err)
				return
			}
			readers[name] = c
		})
	}
	if t.Failed() {
		t.FailNow()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	b.parts.watchers.port = l.Addr().(*net.TCPAddr).Port
	var conn net.Conn
	as(t, "daemon", func() { conn, err = net.Dial("tcp", l.Addr().String()) })
	must(t, err)
	defer conn.Close()

	ordered := map[string]string{} // tags of events by who ordered
	publish := func(name string) {
		load := b.load("web1", "glob", "test.ping", []any{})
		if name != "root" {
			key, err := os.ReadFile(filepath.Join(b.cfg.CacheDir, "."+name+"_key"))
			must(t, err)
			load.Update(data.NewMap("user", name, "key", string(key)))
		}
		reply, _ := b.clear(t, load).(*data.Map)
		inner, _ := reply.Value("load").(*data.Map)
		if ordered[name] = inner.Text("jid"); ordered[name] == "" {
			t.Fatalf("publish of %s: %s", name, data.Repr(reply))
		}
	}
	publish("root")
	publish("daemon")
	publish("bin")
	fred, err := b.parts.gate.Identify(ctx, auth.FromLogin(loginAs("fred", "right")))
	must(t, err)
	ordered["fred"] = "20260101000000000009"
	b.parts.watchers.recordInitiator(job.ID(ordered["fred"]), fred, conn.LocalAddr())
	must(t, b.bus.Fire("salt/run/"+ordered["fred"]+"/ret", data.NewMap()))
	for _, name := range []string{"daemon", "bin"} {
		must(t, b.bus.Fire("salt/job/"+ordered[name]+"/ret/web1", data.NewMap()))
	}
	must(t, b.bus.Fire("salt/minion/web1/start", data.NewMap()))

	all := []string{}
	for _, name := range []string{"root", "daemon", "bin"} {
		all = append(all, ordered[name], "salt/job/"+ordered[name]+"/new", "salt/job/"+
			ordered[name]+"/publish")
	}
	returns := []string{"salt/job/" + ordered["daemon"] + "/ret/web1", "salt/job/" +
		ordered["bin"] + "/ret/web1"}
	run := "salt/run/" + ordered["fred"] + "/ret"
	want := map[string][]string{
		"root": append(append(append([]string{}, all...), run, returns[0], returns[1]),
			"salt/minion/web1/start"),
		"daemon": append(append([]string{}, all[3:6]...), run, returns[0]),
		"bin":    append(append([]string{}, all[6:9]...), returns[1]),
	}
	want["nobody"] = want["root"]
	must(t, b.bus.Fire(ordered["daemon"], data.NewMap("last", true)))
	must(t, b.bus.Fire(ordered["bin"], data.NewMap("last", true)))
	for name, c := range readers {
		var got []string
		for range len(want[name]) {
			e, err := c.Next(ctx)
			if err != nil {
				t.Fatalf("%s reads: %v", name, err)
			}
			got = append(got, e.Tag)
		}
		for i := range want[name] {
			if got[i] != want[name][i] {
				t.Errorf("%s reads %q, want %q", name, got[i], want[name][i])
			}
		}
		c.Close()
	}
}

// TestUserOfConnection looks up the owner of connections: of a user, of a closed one, and of none.
func TestUserOfConnection(t *testing.T) {
	need.Root(t, "to become another user")
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("no %s on this host: %v", address, err)
			continue
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		var conn net.Conn
		as(t, "daemon", func() { conn, err = net.Dial("tcp", l.Addr().String()) })
		must(t, err)
		defer conn.Close()
		if uid, ok := uidOf(conn.LocalAddr(), port); !ok || uid != uidNamed(t, "daemon") {
			t.Errorf("%s: uid %d, %v; want that of daemon", conn.LocalAddr(), uid, ok)
		}
		if uid, ok := uidOf(conn.LocalAddr(), port+1); ok {
			t.Errorf("a connection to another port: uid %d", uid)
		}
		if uid, ok := uidOf(l.Addr(), port); ok { // the kernel answers with the listening socket
			t.Errorf("a connection from a port where somebody listens: uid %d", uid)
		}
	}
}

// TestEventsOfJobsBeforeTheStart has a master find whose the young jobs in its job cache are.
func TestEventsOfJobsBeforeTheStart(t *testing.T) {
	load := func(kwargs *data.Map) data.Raw {
		raw, err := payload.MarshalBin(data.NewMap("user", "daemon", "fun", "test.ping", "kwargs", kwargs))
		must(t, err)
		return raw
	}
	jobs := youngJobs{{ID: "1", Load: load(data.NewMap())}, {ID: "2", Load: load(data.NewMap("token", nil))},
		{ID: "3", Load: load(data.NewMap("eauth", "pam"))}, {ID: "4", Load: data.Raw("\xc1")}}
	w := newWatchers(4506)
	w.users[1] = watcher{name: "daemon"}
	must(t, w.recall(t.Context(), jobs, time.Now()))
	for id, want := range map[string]bool{"1": true, "2": false, "3": false, "4": false, "5": false} {
		if got := w.reads(1, "salt/job/"+id+"/ret/web1"); got != want {
			t.Errorf("daemon reads job %s: %v, want %v", id, got, want)
		}
		if w.reads(2, "salt/job/"+id+"/ret/web1") {
			t.Errorf("somebody else reads job %s", id)
		}
	}
}

// TestOldOrdersAreForgotten gives more orders than are remembered.
func TestOldOrdersAreForgotten(t *testing.T) {
	w := newWatchers(4506)
	for i := range maxPerInitiator + 10 {
		w.remember(job.ID(strconv.Itoa(i)), initiator{uid: 7})
	}
	if len(w.initiators) != maxPerInitiator || w.reads(7, "9") || !w.reads(7, "10") {
		t.Errorf("%d orders are remembered, the first: %v, %v", len(w.initiators), w.reads(7, "9"),
			w.reads(7, "10"))
	}
	for i := range maxPerInitiator + 10 {
		w.remember(job.ID("other"+strconv.Itoa(i)), initiator{uid: 8})
	}
	if !w.reads(7, "10") || w.reads(7, "other10") {
		t.Error("orders of another user took the place of this one's")
	}
	for i := range maxInitiators - 2 {
		w.remember(job.ID("user"+strconv.Itoa(i)), initiator{uid: 100 + i})
	}
	w.remember("zz", initiator{uid: 9})
	if w.reads(7, "10") || !w.reads(8, "other10") || !w.reads(9, "zz") || len(w.jobs) != maxInitiators {
		t.Errorf("orders of %d users are remembered, and not those of the last ones alone", len(w.jobs))
	}
}

// TestEventsBelongToTheFirstSender orders with an id that another user's order has already.
func TestEventsBelongToTheFirstSender(t *testing.T) {
	w := newWatchers(4506)
	w.users[1], w.users[2] = watcher{name: "daemon"}, watcher{name: "bin"}
	nowhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	key := func(name string) *auth.Identity { return &auth.Identity{Name: name, Kind: auth.ByKey} }
	w.recordInitiator("1", key("daemon"), nowhere)
	w.recordInitiator("1", key("bin"), nowhere)
	if !w.reads(1, "salt/job/1/ret/web1") || w.reads(2, "salt/job/1/ret/web1") {
		t.Error("the events of an order went over to who used its id again")
	}
	w.remember("2", initiator{uid: eventbus.NoUser}) // by a user who reads all
	w.recordInitiator("2", key("bin"), nowhere)
	if w.reads(2, "salt/job/2/ret/web1") {
		t.Error("the events of an order of a user with all rights went to who used its id again")
	}
}

// youngJobs is what a job cache has.
type youngJobs []returners.Job

func (y youngJobs) Jobs(context.Context, returners.Filter) ([]returners.Job, error) { return y, nil }
func (youngJobs) Job(context.Context, job.ID) (*returners.Job, error) {
	return nil, errors.New("unknown")
}
func (youngJobs) Returns(context.Context, job.ID) ([]returners.Return, error) { return nil, nil }
