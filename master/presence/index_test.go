package presence

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/transport"
)

func at(host string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(host), Port: 40000} }

// A sketch says who is connected by looking at everything, which is what an Index must agree with
// at any time.
type sketch struct {
	before map[string]string
	seen   map[string]*seen
	conns  map[*transport.Peer]bool
}

type seen struct {
	host     string
	at, lost time.Time
}

// A picture is who is connected.
type picture struct {
	hosts         map[string][]string // of all connections of a minion
	strange, sure bool
}

// draw looks at all connections and minions.
func (s *sketch) draw() picture {
	pic := picture{hosts: map[string][]string{}, sure: true}
	unnamed := map[string]int{}
	for c := range s.conns {
		host := transport.HostOf(c.Addr)
		switch id, named := s.owner(c); {
		case id != "":
			pic.hosts[id] = append(pic.hosts[id], host)
		case named:
			pic.strange = true
		case len(c.Topics) > 0:
			unnamed[host]++
		}
	}
	for host, n := range unnamed {
		line := s.line(host, pic.hosts)
		pic.sure = pic.sure && len(line) == n
		pic.strange = pic.strange || len(line) < n
		for _, id := range line[:min(n, len(line))] {
			pic.hosts[id] = []string{host}
		}
	}
	pic.sure = pic.sure && !pic.strange
	return pic
}

// owner returns whose connection it is, and whether it bears a name.
func (s *sketch) owner(c *transport.Peer) (id string, named bool) {
	if c.ID != "" {
		return c.ID, true
	}
	for _, topic := range c.Topics {
		for _, id := range everybody {
			if channel.Topic(id) == topic && s.home(id) == transport.HostOf(c.Addr) {
				return id, true
			}
		}
		named = named || topic != ""
	}
	return "", named
}

// line returns who may have a connection from a host that bears no name, the one that was heard of
// last first.
func (s *sketch) line(host string, have map[string][]string) (ids []string) {
	var old []string
	for _, id := range everybody {
		if _, connected := have[id]; connected || s.home(id) != host {
			continue
		}
		if m := s.seen[id]; m == nil {
			old = append(old, id)
		} else if m.lost.IsZero() || m.at.Sub(m.lost) > unnamedAfter {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return s.seen[b].at.Compare(s.seen[a].at) })
	return append(ids, old...)
}

func (s *sketch) home(id string) string {
	if m := s.seen[id]; m != nil {
		return m.host
	}
	return s.before[id]
}

// noteNamed remembers, before something changes at a time, who has a connection with a name.
func (s *sketch) noteNamed(now time.Time) {
	for c := range s.conns {
		if id, _ := s.owner(c); id != "" && s.seen[id] != nil {
			s.seen[id].lost = now
		}
	}
}

var everybody = []string{"a", "b", "c", "d", "e", "f", "g"}

// TestIndexAgreesWithALookAtEverything does many things in a random order, and compares the index
// after each with what all connections and minions together say.
func TestIndexAgreesWithALookAtEverything(t *testing.T) {
	hosts := []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		now := time.Unix(1e9, 0)
		s := &sketch{before: map[string]string{}, seen: map[string]*seen{}, conns: map[*transport.Peer]bool{}}
		for _, id := range everybody[:rnd.IntN(4)] {
			s.before[id] = hosts[rnd.IntN(len(hosts))]
		}
		x := NewIndex(maps.Clone(s.before), func() time.Time { return now })
		for step := range 150 {
			now = now.Add(time.Duration(1+rnd.IntN(12)) * time.Second)
			s.noteNamed(now)
			what := s.act(x, rnd, hosts, now)
			want := s.draw()
			ids := slices.Sorted(maps.Keys(want.hosts))
			if d := cmp.Diff(ids, x.Connected(), cmpopts.EquateEmpty()); d != "" || x.Count() != len(ids) {
				t.Fatalf("seed %d, step %d, %s: Count = %d, Connected (-want +got):\n%s",
					seed, step, what, x.Count(), d)
			}
			got, _ := x.Connections()
			for id, c := range got {
				if !slices.Contains(want.hosts[id], c.Host) {
					t.Fatalf("seed %d, step %d, %s: %s is at %s, want one of %v", seed, step, what,
						id, c.Host, want.hosts[id])
				}
				if c.Since.IsZero() || c.Since.After(now) {
					t.Fatalf("seed %d, step %d, %s: %s is connected since %s", seed, step, what, id, c.Since)
				}
			}
			if len(got) != len(ids) {
				t.Fatalf("seed %d, step %d, %s: Connections = %v, want %v", seed, step, what, got, want.hosts)
			}
			if x.Strangers() != want.strange || x.Sure() != want.sure {
				t.Fatalf("seed %d, step %d, %s: Strangers = %t, Sure = %t, want %t, %t",
					seed, step, what, x.Strangers(), x.Sure(), want.strange, want.sure)
			}
		}
		for c := range s.conns {
			x.Watch(c, nil)
		}
		x.Forget(func(string) bool { return false })
		n := len(x.minions) + len(x.named) + len(x.byTopic) + len(x.assignments) + len(x.places)
		if n > 0 || x.Count() > 0 || x.Strangers() || !x.Sure() {
			t.Fatalf("seed %d: after the end of all there are %d things, %d connected", seed, n, x.Count())
		}
	}
}

// act does one thing to the index and to the sketch, and says what.
func (s *sketch) act(x *Index, rnd *rand.Rand, hosts []string, now time.Time) string {
	id, host := everybody[rnd.IntN(len(everybody))], hosts[rnd.IntN(len(hosts))]
	some := func() *transport.Peer {
		bySince := func(a, b *transport.Peer) int { return a.Since.Compare(b.Since) }
		all := slices.SortedFunc(maps.Keys(s.conns), bySince)
		if len(all) == 0 {
			return nil
		}
		return all[rnd.IntN(len(all))]
	}
	switch n := rnd.IntN(10); {
	case n < 3:
		x.Note(id, host)
		if s.seen[id] == nil {
			s.seen[id] = &seen{}
		}
		s.seen[id].host, s.seen[id].at = host, now
		return "note " + id + " " + host
	case n < 6:
		c := &transport.Peer{Addr: at(host), Since: now}
		x.Watch(nil, c)
		s.conns[c] = true
		return "connection from " + host
	case n < 8:
		if was := some(); was != nil {
			is := *was
			switch rnd.IntN(4) {
			case 0:
				is.ID = id
			case 1:
				is.Topics = append(slices.Clone(is.Topics), channel.Topic(id))
			default:
				is.Topics = append(slices.Clone(is.Topics), "")
			}
			x.Watch(was, &is)
			delete(s.conns, was)
			s.conns[&is] = true
			return fmt.Sprintf("a connection becomes %+v", is)
		}
	case n < 9:
		if was := some(); was != nil {
			x.Watch(was, nil)
			delete(s.conns, was)
			return fmt.Sprintf("the end of %+v", was)
		}
	case rnd.IntN(4) == 0:
		x.Forget(func(other string) bool { return other != id })
		delete(s.seen, id)
		delete(s.before, id)
		return "forget " + id
	}
	return "nothing"
}

// TestAwaitEndsWhenTheMinionIsConnected checks that who waits for a minion is told once, and that
// one waits.
func TestAwaitEndsWhenTheMinionIsConnected(t *testing.T) {
	x := NewIndex(nil, time.Now)
	x.Note("web1", "10.0.0.1")
	connected, done := x.Await("web1")
	if again, _ := x.Await("web1"); again != nil {
		t.Error("a second one waits")
	}
	select {
	case <-connected:
		t.Fatal("it is connected without a connection")
	default:
	}
	x.Watch(nil, &transport.Peer{Addr: at("10.0.0.1"), Topics: []string{""}})
	<-connected
	done()
	if again, _ := x.Await("web1"); again != nil {
		t.Error("one waits for a minion that is connected")
	}
	if _, end := x.Await("web2"); end != nil {
		end()
	}
	if again, _ := x.Await("web2"); again == nil {
		t.Error("nobody can wait after another has given up")
	}
}

// TestAwaitTakesNoConnectionOfAnotherMinion checks that a minion of Salt that comes back is waited
// for until its own connection is there, though the index gives it one that is another's: both bear
// no name and come from one host.
func TestAwaitTakesNoConnectionOfAnotherMinion(t *testing.T) {
	x := NewIndex(nil, time.Now)
	link := func() *transport.Peer {
		came := &transport.Peer{Addr: at("10.0.0.1"), Topics: []string{""}}
		x.Watch(nil, came)
		return came
	}
	x.Note("web1", "10.0.0.1")
	left := link()
	x.Note("web2", "10.0.0.1")
	link()
	x.Watch(left, nil)
	x.Note("web1", "10.0.0.1") // it was started anew, and its connection is on its way
	connected, done := x.Await("web1")
	if connected == nil {
		t.Fatal("the connection of web2 is taken for that of web1")
	}
	defer done()
	named := &transport.Peer{Addr: at("10.0.0.1"), Topics: []string{channel.Topic("web3")}}
	x.Note("web3", "10.0.0.1") // with a name of its own
	x.Watch(nil, named)
	select {
	case <-connected:
		t.Fatal("the connection of web3 is taken for that of web1")
	default:
	}
	link()
	select {
	case <-connected:
	default:
		t.Fatal("each minion has a connection, and web1 is waited for")
	}
	if again, _ := x.Await("web1"); again != nil {
		t.Error("one waits for a minion that is surely connected")
	}
}

// TestAwaitEndsWhenAnotherMinionIsForgotten checks that a minion which is known no more holds
// nobody up.
func TestAwaitEndsWhenAnotherMinionIsForgotten(t *testing.T) {
	x := NewIndex(nil, time.Now)
	x.Note("web2", "10.0.0.1")
	x.Note("web1", "10.0.0.1")
	x.Watch(nil, &transport.Peer{Addr: at("10.0.0.1"), Topics: []string{""}})
	connected, done := x.Await("web1")
	if connected == nil {
		t.Fatal("web1 is not waited for")
	}
	defer done()
	x.Forget(func(id string) bool { return id == "web1" })
	select {
	case <-connected:
	default:
		t.Error("web1 is waited for, and no other can have its connection")
	}
}

// BenchmarkArrival is what the index does for a minion that signs in, connects and announces its
// start, beside 1,000 and 20,000 others that are connected, from one host, where connections have
// no names, and from a host each. The time of one does not depend on the number: ratio is that of
// 20,000 to that of 1,000.
func BenchmarkArrival(b *testing.B) {
	for _, hosts := range []int{1, 20_000} {
		b.Run(map[bool]string{true: "one-address", false: "an-address-each"}[hosts == 1], func(b *testing.B) {
			var took [2]time.Duration
			few, many := crowded(1000, hosts), crowded(20_000, hosts)
			for n := 0; b.Loop(); n++ {
				for i, x := range []*Index{few, many} {
					begin := time.Now()
					arrive(b, x, n)
					took[i] += time.Since(begin)
				}
			}
			b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "ns/1000")
			b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N), "ns/20000")
			b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
		})
	}
}

// crowded returns an index with so many minions that are connected, from some hosts.
func crowded(n, hosts int) *Index {
	x := NewIndex(nil, time.Now)
	for i := range n {
		host := net.IPv4(10, 1, byte(i%hosts>>8), byte(i%hosts)).String()
		x.Note(fmt.Sprintf("crowd%05d", i), host)
		x.Watch(nil, &transport.Peer{Addr: at(host), Topics: []string{""}})
	}
	return x
}

// arrive lets a minion come, announce its start, and go.
func arrive(b *testing.B, x *Index, n int) {
	id := fmt.Sprintf("new%05d", n%1000)
	x.Note(id, "10.1.0.0")
	came := &transport.Peer{Addr: at("10.1.0.0")}
	x.Watch(nil, came)
	listens := &transport.Peer{Addr: came.Addr, Topics: []string{""}}
	x.Watch(came, listens)
	x.Note(id, "10.1.0.0")
	if connected, _ := x.Await(id); connected != nil {
		b.Fatal("it is not connected")
	}
	x.Watch(listens, nil)
}

// TestSinceIsWhenTheMinionCame checks that a connection that gets another name, or follows the last
// one at once, is no new one, and that one after a pause is.
func TestSinceIsWhenTheMinionCame(t *testing.T) {
	now := time.Unix(1e9, 0)
	x := NewIndex(nil, func() time.Time { return now })
	since := func(want time.Time) {
		t.Helper()
		all, _ := x.Connections()
		if c := all["web1"]; !c.Since.Equal(want) || c.Host != "10.0.0.1" {
			t.Errorf("web1 is connected since %s from %q, want %s", c.Since, c.Host, want)
		}
	}
	x.Note("web1", "10.0.0.1")
	first := now
	bare := &transport.Peer{Addr: at("10.0.0.1"), Topics: []string{""}}
	x.Watch(nil, bare)
	since(first)
	now = now.Add(time.Hour)
	named := &transport.Peer{Addr: at("10.0.0.1"), Topics: []string{"", channel.Topic("web1")}}
	x.Watch(bare, named)
	since(first)
	x.Watch(named, nil)
	now = now.Add(time.Minute)
	x.Watch(nil, &transport.Peer{Addr: at("10.0.0.1"), ID: "web1"})
	since(now)
}
