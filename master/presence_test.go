package master

import (
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/transport"
)

// crowd is a publish port with connections that a test chooses.
type crowd struct {
	wire
	peers   []transport.Peer
	changed uint64
	asked   int
}

func (c *crowd) PeerList() []transport.Peer { c.asked++; return c.peers }
func (c *crowd) PeerChanges() uint64        { return c.changed }

// connect replaces the connections: HOST, HOST/ID for one that bears a name, ID@HOST for one that has proved it, and
// HOST- for one without a subscription.
func (c *crowd) connect(texts ...string) {
	c.peers, c.changed = nil, c.changed+1
	for _, text := range texts {
		host, name, named := strings.Cut(text, "/")
		id, at, proved := strings.Cut(text, "@")
		p := transport.Peer{Topics: []string{""}}
		switch {
		case named:
			p.Topics = []string{channel.Topic(name), ""}
		case proved:
			p.ID, host = id, at
		case strings.HasSuffix(host, "-"):
			host, p.Topics = strings.TrimSuffix(host, "-"), nil
		}
		p.Addr = from(host)
		c.peers = append(c.peers, p)
	}
}

func from(host string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(host), Port: 40000} }

// TestConnectionsBelongToMinions holds which minions count as connected, by what they proved and which connections
// there are.
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
		{"behind one address, the one heard of last is there", "web2=" + a + " web1=" + a, "", []string{a}, "web1"},
		{"behind one address, names tell who", "web2=" + a + " web1=" + a, "", []string{a + "/web2"}, "web2"},
		{"names and none", "web1=" + a + " web2=" + a + " web3=" + a, "", []string{a + "/web2", a}, "web2 web3"},
		{"a name from the wrong host", "web1=" + a, "", []string{b + "/web1"}, ""},
		{"a name that nobody has proved, which takes no place", "web1=" + a, "", []string{a + "/db1"}, ""},
		{"a name taken by others does not hide its minion", "web1=" + a, "", []string{b + "/web1", a + "/web1"}, "web1"},
		{"the same minion twice", "web1=" + a + " web2=" + a, "", []string{a + "/web1", a + "/web1"}, "web1"},
		{"a proved connection", "", "", []string{"web1@" + b}, "web1"},
		{"a minion that has moved", "web1=" + a + " web1=" + b, "", []string{a, b}, "web1"},
		{"known of the run before", "", "web1=" + a + " web2=" + b, []string{a}, "web1"},
		{"known of the run before by name", "", "web1=" + a + " web2=" + a, []string{a + "/web2"}, "web2"},
		{"who has proved itself comes before who was known", "web2=" + a, "web1=" + a + " web2=" + a, []string{a}, "web2"},
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
			for word := range strings.FieldsSeq(tt.proved) {
				id, host, _ := strings.Cut(word, "=")
				now = now.Add(time.Second)
				p.note(id, from(host))
			}
			c.connect(tt.peers...)
			for range 2 {
				if got := strings.Join(p.connected(), " "); got != tt.want {
					t.Errorf("connected: %q, want %q", got, tt.want)
				}
			}
			away := p.absent([]string{"web3", "web2", "web1"})
			for _, id := range []string{"web1", "web2", "web3"} {
				if slices.Contains(away, id) == slices.Contains(strings.Fields(tt.want), id) {
					t.Errorf("absent: %v, connected %q", away, tt.want)
				}
			}
		})
	}
}

// TestMinionsThatNameTheirConnectionsHaveNoOthers has a minion of ours go, and another one's connection without a name stay:
// that is not given to the former, until it says something long after.
func TestMinionsThatNameTheirConnectionsHaveNoOthers(t *testing.T) {
	c, now := &crowd{}, time.Unix(1e9, 0)
	p := newPresence(c, nil, newSettings(config.DefaultMaster()), func() time.Time { return now })
	p.note("real1", from("10.0.0.1"))
	now = now.Add(time.Second)
	p.note("ours1", from("10.0.0.1"))
	steps := func(want string, peers ...string) {
		t.Helper()
		c.connect(peers...)
		if got := strings.Join(p.connected(), " "); got != want {
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

// TestPresenceIsNotLookedUpForEachJob asks often while nothing changes.
func TestPresenceIsNotLookedUpForEachJob(t *testing.T) {
	c, now := &crowd{}, time.Unix(1e9, 0)
	p := newPresence(c, nil, newSettings(config.DefaultMaster()), func() time.Time { return now })
	p.note("web1", from("10.0.0.1"))
	c.connect("10.0.0.1/web1")
	for range 100 {
		p.note("web1", from("10.0.0.1"))
		if len(p.connected()) != 1 {
			t.Fatal("web1 is not connected")
		}
	}
	if c.asked != 1 {
		t.Errorf("the connections were listed %d times", c.asked)
	}
	p.prune(func(string) bool { return false })
	if got := p.connected(); len(got) > 0 {
		t.Errorf("connected without a key: %v", got)
	}
}

// BenchmarkAbsent asks who of 5000 minions is away, once with new connections each time.
func BenchmarkAbsent(b *testing.B) {
	for _, changes := range []bool{false, true} {
		b.Run(map[bool]string{false: "quiet", true: "changing"}[changes], func(b *testing.B) {
			c := &crowd{}
			p := newPresence(c, nil, newSettings(config.DefaultMaster()), time.Now)
			var ids, peers []string
			for i := range 5000 {
				host := net.IPv4(10, 0, byte(i>>8), byte(i)).String()
				id := "minion" + host
				p.note(id, from(host))
				ids, peers = append(ids, id), append(peers, host+"/"+id)
			}
			c.connect(peers...)
			b.ReportAllocs()
			for b.Loop() {
				if changes {
					c.changed++
				}
				if away := p.absent(ids); len(away) > 0 {
					b.Fatal(len(away), "are away")
				}
			}
		})
	}
}

// TestStartWaitsForItsConnection holds that the start of a minion is announced when the publish port knows its connection, and
// that one that never comes does not hold it up for long.
func TestStartWaitsForItsConnection(t *testing.T) {
	for _, tt := range []struct {
		name  string
		comes time.Duration // when the connection does; 0 is before the start, less is never
		want  time.Duration
	}{
		{"connected", 0, 0},
		{"a connection that comes later", 30 * time.Millisecond, 40 * time.Millisecond},
		{"no connection", -1, arrivalTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crowd{}
				p := newPresence(c, nil, newSettings(config.DefaultMaster()), time.Now)
				connect := func() {
					p.mu.Lock() // the publish port has a lock of its own
					defer p.mu.Unlock()
					c.connect("web2@10.0.0.1", "web1@10.0.0.1")
				}
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

// TestOneStartWaits holds that a minion cannot take more places of those who wait than one.
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
		if len(p.awaited) > 0 {
			t.Errorf("left: %v", p.awaited)
		}
	})
}

// TestTwoMinionsOfOneIDAreTold tells a minion that has moved from two that speak by turns.
func TestTwoMinionsOfOneIDAreTold(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := newPresence(&crowd{}, nil, newSettings(config.DefaultMaster()), func() time.Time { return now })
	var told []string
	p.twice = func(id, host, other string) { told = append(told, id+" "+host+" "+other) }
	speak := func(after time.Duration, id, host string) {
		now = now.Add(after)
		p.note(id, from(host))
	}
	speak(0, "web1", "10.0.0.1")
	speak(time.Second, "web1", "10.0.0.2") // it has moved
	speak(time.Hour, "web1", "10.0.0.1")   // and back
	speak(time.Second, "web2", "10.0.0.2")
	if len(told) > 0 {
		t.Errorf("told of a minion that moves: %q", told)
	}
	speak(time.Second, "web1", "10.0.0.2")
	speak(time.Second, "web1", "10.0.0.1")
	speak(time.Second, "web1", "10.0.0.2")
	if len(told) != 1 || told[0] != "web1 10.0.0.2 10.0.0.1" {
		t.Errorf("told %q", told)
	}
	if got := p.host("web1") + p.host("nobody"); got != "10.0.0.2" {
		t.Errorf("host = %q", got)
	}
}
