package master

import (
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// crowd is a publish port with connections that a test chooses.
type crowd struct {
	wire
	conns map[string][]transport.PeerReport // by their texts
}

// connect makes these connections and ends all others: HOST, HOST/ID for one that bears a name,
// ID@HOST for one that has proved it, and HOST- for one without a subscription.
func (c *crowd) connect(texts ...string) {
	before, now := c.conns, map[string][]transport.PeerReport{}
	for _, text := range texts {
		if have := before[text]; len(have) > 0 {
			now[text], before[text] = append(now[text], have[0]), have[1:]
		} else {
			now[text] = append(now[text], c.open(text))
		}
	}
	for _, left := range before {
		for i := range left {
			left[i].End()
		}
	}
	c.conns = now
}

// open makes a connection, of which more is known as it goes on.
func (c *crowd) open(text string) transport.PeerReport {
	host, name, named := strings.Cut(text, "/")
	id, at, proved := strings.Cut(text, "@")
	if proved {
		host = at
	}
	r := transport.NewPeerReport(c.watch, transport.Peer{Addr: from(strings.TrimSuffix(host, "-"))})
	switch {
	case strings.HasSuffix(host, "-"):
		return r
	case named:
		r.Change(func(p *transport.Peer) { p.Topics = []string{channel.Topic(name)} })
	case proved:
		r.Change(func(p *transport.Peer) { p.ID = id })
	}
	r.Change(func(p *transport.Peer) { p.Topics = append(slices.Clip(p.Topics), "") })
	return r
}

func from(host string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(host), Port: 40000} }

// TestConnectionsBelongToMinions checks which minions count as connected, given their proofs and
// the connections.
func TestConnectionsBelongToMinions(t *testing.T) {
	const a, b = "10.0.0.1", "10.0.0.2"
	for _, tt := range []struct {
		name   string
		proved string // MINION=HOST in the order of their requests
		before string // likewise, of the run before
		peers  []string
		want   string
	}{
		{"one minion and its connection", "web1=" + a, "", []string{a}, "web1"},
		{"a connection that was cut", "web1=" + a, "", nil, ""},
		{"a connection that has subscribed to nothing", "web1=" + a, "", []string{a + "-"}, ""},
		{"a connection from elsewhere", "web1=" + a, "", []string{b}, ""},
		{"nobody has proved anything", "", "", []string{a, b}, ""},
		{"behind one address, all there", "web1=" + a + " web2=" + a, "", []string{a, a}, "web1 web2"},
		{"behind one address, the one heard of last is there", "web2=" + a + " web1=" + a,
			"", []string{a}, "web1"},
		{"behind one address, names tell who", "web2=" + a + " web1=" + a, "", []string{a + "/web2"}, "web2"},
		{"names and none", "web1=" + a + " web2=" + a + " web3=" + a, "", []string{a + "/web2", a},
			"web2 web3"},
		{"a name from the wrong host", "web1=" + a, "", []string{b + "/web1"}, ""},
		{"a name that nobody has proved, which takes no place", "web1=" + a, "", []string{a + "/db1"}, ""},
		{"a name taken by others does not hide its minion", "web1=" + a,
			"", []string{b + "/web1", a + "/web1"}, "web1"},
		{"the same minion twice", "web1=" + a + " web2=" + a, "", []string{a + "/web1", a + "/web1"}, "web1"},
		{"a proved connection", "", "", []string{"web1@" + b}, "web1"},
		{"a minion that has moved", "web1=" + a + " web1=" + b, "", []string{a, b}, "web1"},
		{"known of the run before", "", "web1=" + a + " web2=" + b, []string{a}, "web1"},
		{"known of the run before by name", "", "web1=" + a + " web2=" + a, []string{a + "/web2"}, "web2"},
		{"who has proved itself comes before who was known", "web2=" + a, "web1=" + a + " web2=" +
			a, []string{a}, "web2"},
		{"who has moved since the run before", "web1=" + b, "web1=" + a, []string{a}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, now := &crowd{}, time.Unix(1e9, 0)
			before := map[string]string{}
			for word := range strings.FieldsSeq(tt.before) {
				id, host, _ := strings.Cut(word, "=")
				before[id] = host
			}
			p := newPresence(c, before, newSettings(config.DefaultMaster()), func() time.Time { return now })
			prove := func() {
				for word := range strings.FieldsSeq(tt.proved) {
					id, host, _ := strings.Cut(word, "=")
					now = now.Add(time.Second)
					p.note(id, from(host))
				}
			}
			prove()
			for range 2 {
				c.connect(tt.peers...)
				if got := strings.Join(p.Connected(), " "); got != tt.want {
					t.Errorf("connected: %q, want %q", got, tt.want)
				}
			}
			away := p.Absent([]string{"web3", "web2", "web1"})
			for _, id := range []string{"web1", "web2", "web3"} {
				if slices.Contains(away, id) == slices.Contains(strings.Fields(tt.want), id) {
					t.Errorf("absent: %v, connected %q", away, tt.want)
				}
			}
		})
	}
}

// TestMinionsThatNameTheirConnectionsHaveNoOthers has a minion of ours go, and another one's
// connection without a name stay: that is not given to the former, until it says something long
// after.
func TestMinionsThatNameTheirConnectionsHaveNoOthers(t *testing.T) {
	c, now := &crowd{}, time.Unix(1e9, 0)
	p := newPresence(c, nil, newSettings(config.DefaultMaster()), func() time.Time { return now })
	p.note("real1", from("10.0.0.1"))
	now = now.Add(time.Second)
	p.note("ours1", from("10.0.0.1"))
	steps := func(want string, peers ...string) {
		t.Helper()
		c.connect(peers...)
		if got := strings.Join(p.Connected(), " "); got != want {
			t.Errorf("connected: %q, want %q", got, want)
		}
	}
	steps("ours1 real1", "10.0.0.1/ours1", "10.0.0.1")
	steps("real1", "10.0.0.1")
	steps("real1", "10.0.0.1", "10.0.0.1")
	now = now.Add(time.Minute)
	p.note("ours1", from("10.0.0.1")) // it was replaced by a minion of Salt's
	steps("ours1 real1", "10.0.0.1", "10.0.0.1")
}

// TestForgottenMinionsAreNotConnected checks that a connection belongs to no minion after the
// minion's key is deleted.
func TestForgottenMinionsAreNotConnected(t *testing.T) {
	c := &crowd{}
	p := newPresence(c, map[string]string{"old": "10.0.0.3"}, newSettings(config.DefaultMaster()), time.Now)
	p.note("web1", from("10.0.0.1"))
	p.note("web2", from("10.0.0.2"))
	c.connect("10.0.0.1/web1", "10.0.0.2", "10.0.0.3")
	same(t, "connected", p.Connected(), []string{"old", "web1", "web2"})
	same(t, "strangers", p.Strangers(), false)
	p.Forget(func(string) bool { return false })
	same(t, "connected without a key", len(p.Connected()), 0)
	same(t, "strangers without a key", p.Strangers(), true)
	p.note("web1", from("10.0.0.1"))
	same(t, "connected with a new key", p.Connected(), []string{"web1"})
}

// starts lets a minion come again and again to a master where so many others are connected: it
// proves itself, its connection comes and subscribes, it announces its start, and the connection
// goes.
func starts(t testing.TB, others int) (start func()) {
	b := newBench(t, nil)
	var crowd []string
	for i := range others {
		id := fmt.Sprintf("crowd%05d", i)
		b.parts.presence.note(id, from("10.0.0.1"))
		crowd = append(crowd, id)
	}
	b.wire.connect(crowd...)
	raw, err := payload.Marshal(data.NewMap("id", "web1", "cmd", "_minion_event", "pretag", nil,
		"tag", "salt/minion/web1/start", "data", "Minion web1 started"))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		b.parts.presence.note("web1", from("10.0.0.1"))
		conn := transport.NewPeerReport(b.wire.watch, transport.Peer{Addr: from("10.0.0.1")})
		conn.Change(func(p *transport.Peer) { p.Topics = []string{""} })
		fields, err := payload.ParseFields(raw, payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.requests.Encrypted(t.Context(),
			&channel.Command{Name: "_minion_event", Load: fields, Version: 3,
				Caller: channel.Caller{ID: "web1", Proved: true}}); err != nil {
			t.Fatal(err)
		}
		conn.End()
	}
}

// TestStartsCostTheSameInALargeCrowd checks that memory for a minion's start does not grow with the
// number of connected minions; otherwise starting a fleet takes quadratic time.
func TestStartsCostTheSameInALargeCrowd(t *testing.T) {
	var allocs, bytes [2]uint64
	for i, n := range []int{100, 5000} {
		start := starts(t, n)
		start()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			start()
		}
		runtime.ReadMemStats(&after)
		allocs[i], bytes[i] = (after.Mallocs-before.Mallocs)/100, (after.TotalAlloc-before.TotalAlloc)/100
	}
	if allocs[1] > allocs[0]*3/2 || bytes[1] > bytes[0]*3/2 {
		t.Errorf("a start takes %d allocations, %d bytes beside 100 minions, and %d, %d beside 5,000", allocs[0], bytes[0], allocs[1], bytes[1])
	}
}

// BenchmarkStart is what the master does for the start of a minion beside 1,000 and beside 20,000
// that are connected; ratio is that of the second to the first.
func BenchmarkStart(b *testing.B) {
	var took [2]time.Duration
	few, many := starts(b, 1000), starts(b, 20_000)
	for b.Loop() {
		for i, start := range []func(){few, many} {
			begin := time.Now()
			start()
			took[i] += time.Since(begin)
		}
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "ns/1000")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N), "ns/20000")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// TestStartWaitsForItsConnection checks that the start of a minion is announced when the publish
// port knows its connection, and that one that never comes does not hold it up for long.
func TestStartWaitsForItsConnection(t *testing.T) {
	for _, tt := range []struct {
		name  string
		comes time.Duration // when the connection does; 0 is before the start, less is never
		want  time.Duration
	}{
		{"connected", 0, 0},
		{"a connection that comes later", 30 * time.Millisecond, 30 * time.Millisecond},
		{"no connection", -1, arrivalTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crowd{}
				p := newPresence(c, nil, newSettings(config.DefaultMaster()), time.Now)
				connect := func() { c.connect("web2@10.0.0.1", "web1@10.0.0.1") }
				if tt.comes == 0 {
					connect()
				} else if tt.comes > 0 {
					time.AfterFunc(tt.comes, connect)
				}
				begun := time.Now()
				p.await(t.Context(), "web1")
				if took := time.Since(begun); took != tt.want {
					t.Errorf("waited %s, want %s", took, tt.want)
				}
			})
		})
	}
}

// TestOneStartWaits checks that a minion cannot take more places of those who wait than one.
func TestOneStartWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresence(&crowd{}, nil, newSettings(config.DefaultMaster()), time.Now)
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.await(t.Context(), "web1")
		}()
		synctest.Wait()
		begun := time.Now()
		p.await(t.Context(), "web1")
		if took := time.Since(begun); took > 0 {
			t.Errorf("the second start of a minion waited %s", took)
		}
		<-done
		if again, end := p.Await("web1"); end == nil || again == nil {
			t.Error("a later start of the minion does not wait")
		}
	})
}

// TestDuplicateMinionIsReported distinguishes a minion that has moved from two with the same id.
func TestDuplicateMinionIsReported(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := newPresence(&crowd{}, nil, newSettings(config.DefaultMaster()), func() time.Time { return now })
	var reported []string
	p.onDuplicate = func(id, host, other string) { reported = append(reported, id+" "+host+" "+other) }
	speak := func(after time.Duration, id, host string) {
		now = now.Add(after)
		p.note(id, from(host))
	}
	speak(0, "web1", "10.0.0.1")
	speak(time.Second, "web1", "10.0.0.2") // it has moved
	speak(time.Hour, "web1", "10.0.0.1")   // and back
	speak(time.Second, "web2", "10.0.0.2")
	if len(reported) > 0 {
		t.Errorf("reported a minion that moves: %q", reported)
	}
	speak(time.Second, "web1", "10.0.0.2")
	speak(time.Second, "web1", "10.0.0.1")
	speak(time.Second, "web1", "10.0.0.2")
	if len(reported) != 1 || reported[0] != "web1 10.0.0.2 10.0.0.1" {
		t.Errorf("reported %q", reported)
	}
	if got := p.Host("web1") + p.Host("nobody"); got != "10.0.0.2" {
		t.Errorf("host = %q", got)
	}
}
