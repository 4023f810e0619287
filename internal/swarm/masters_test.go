package swarm_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// several starts masters with the same key that accept all minions.
func several(t *testing.T, count int) (masters []*testsalt.Master, addresses []string) {
	t.Helper()
	first := testsalt.MasterConfig(testsalt.Dir(t))
	first.MinimumAuthVersion = 2
	for i := range count {
		cfg := first
		if i > 0 {
			cfg = testsalt.MasterConfig(testsalt.Dir(t))
			cfg.MinimumAuthVersion, cfg.PKIDir = 2, first.PKIDir
		}
		m := testsalt.StartMaster(t, cfg)
		masters, addresses = append(masters, m), append(addresses, m.Address)
	}
	return masters, addresses
}

// A deaf requester passes nothing on to the masters that are deaf.
type deaf struct {
	transport.Requester
	is *atomic.Bool
}

var errDeaf = errors.New("the master hears nothing")

func (d *deaf) Do(ctx context.Context, body []byte) ([]byte, error) {
	if d.is.Load() {
		return nil, errDeaf
	}
	return d.Requester.Do(ctx, body)
}

// witness records what minions do, by minion and job.
type witness struct {
	mu    sync.Mutex
	runs  map[[2]string]int
	acked map[[2]string][]string
}

func (w *witness) Ran(minion, jid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[[2]string{minion, jid}]++
}

func (w *witness) Acknowledged(minion, jid, master string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]string{minion, jid}
	w.acked[key] = append(w.acked[key], master)
}

// start runs a swarm until the end of the test, and waits until it is ready. A master whose address
// is in deafness hears nothing while that is set.
func start(t *testing.T, o swarm.Options, deafness map[string]*atomic.Bool) *swarm.Swarm {
	t.Helper()
	wire, err := cli.MinionWire(config.DefaultMinion())
	if err != nil {
		t.Fatal(err)
	}
	o.Ports = swarm.Ports{Subscribe: wire.Subscribe, Request: func(d transport.Dialer) transport.Requester {
		if is := deafness[d.Addr]; is != nil {
			return &deaf{wire.Request(d), is}
		}
		return wire.Request(d)
	}}
	return begin(t, o)
}

// begin runs a swarm with the ports in its options, as start does.
func begin(t *testing.T, o swarm.Options) *swarm.Swarm {
	t.Helper()
	o.Prefix, o.Keys, o.Log = "m", swarm.Keys{Distinct: 2}, testsalt.Log(t)
	s, err := swarm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the swarm: %v", err)
		}
	})
	select {
	case <-s.Ready():
	case <-time.After(time.Minute):
		t.Fatalf("%d connections to publish ports", s.Stats.Listening.Load())
	}
	return s
}

// order publishes a job on a master and returns its id.
func order(t *testing.T, m *testsalt.Master, r client.Request) string {
	t.Helper()
	r.Target, r.Kind = "*", "glob"
	j, err := m.Client(t).Publish(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return string(j.ID)
}

// reaches waits until a counter has a value, and fails if it goes beyond.
func reaches(t *testing.T, what string, n *atomic.Int64, want int64) {
	t.Helper()
	for by := time.Now().Add(time.Minute); n.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(by) {
			break
		}
	}
	if got := n.Load(); got != want {
		t.Fatalf("%s: %d, want %d", what, got, want)
	}
}

// TestMinionsOfSeveralMasters gives the same job on two masters to minions that are connected to
// both: each runs it once and returns to the master that it came from first. Then one master hears
// nothing, and its returns go to the other one.
func TestMinionsOfSeveralMasters(t *testing.T) {
	const count = 10
	masters, addresses := several(t, 2)
	var isDeaf atomic.Bool
	w := &witness{runs: map[[2]string]int{}, acked: map[[2]string][]string{}}
	s := start(t, swarm.Options{Count: count, Masters: addresses, HotHot: true, Old: 50, Observer: w},
		map[string]*atomic.Bool{"tcp://" + addresses[0]: &isDeaf})
	if got := s.Stats.Listening.Load(); got != 2*count {
		t.Errorf("%d connections, want one for each minion and master", got)
	}
	const jid = "20260101000000000001"
	for i, m := range masters {
		order(t, m, client.Request{Fun: "state.apply", JID: jid})
		reaches(t, "publications", &s.Stats.Jobs, int64(count*(i+1)))
	}
	reaches(t, "returns", &s.Stats.Returned, count)
	reaches(t, "repeated publications", &s.Stats.Repeated, count)
	reaches(t, "jobs run", &s.Stats.Ran, count)

	isDeaf.Store(true)
	lost := order(t, masters[0], client.Request{Fun: "test.ping"})
	reaches(t, "returns", &s.Stats.Returned, 2*count)
	if got := s.Stats.Resent.Load(); got != count {
		t.Errorf("%d returns were sent again, want %d", got, count)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, n := range w.runs {
		want := addresses[0]
		if key[1] == lost {
			want = addresses[1]
		}
		if got := w.acked[key]; n != 1 || len(got) != 1 || got[0] != want {
			t.Errorf("%s ran %d times, and returned to %q, want to %s", key, n, got, want)
		}
	}
	if len(w.runs) != 2*count || s.Stats.Moves.Load() != 0 || s.Stats.Stale.Load() != 0 {
		t.Errorf("%d runs, want %d; %d moves, %d stale publications", len(w.runs), 2*count,
			s.Stats.Moves.Load(), s.Stats.Stale.Load())
	}
}

// TestStateRunsHaveTheirSize checks the result of state.apply as the orderer gets it.
func TestStateRunsHaveTheirSize(t *testing.T) {
	masters, addresses := several(t, 1)
	start(t, swarm.Options{Count: 1, Masters: addresses, StateSize: 30_000}, nil)
	l := masters[0].Client(t)
	j, err := l.Publish(t.Context(), client.Request{Target: "*", Kind: "glob", Fun: "state.apply"})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range l.Results(t.Context(), j, client.Wait{Timeout: time.Minute, Gather: time.Second}) {
		if err != nil {
			t.Fatal(err)
		}
		states, ok := r.Value.(*data.Map)
		if !ok || r.Out != "highstate" {
			t.Fatalf("%v for outputter %q", r.Value, r.Out)
		}
		raw, err := payload.Marshal(states)
		if err != nil || len(raw) < 30_000 || len(raw) > 35_000 {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
		for name, state := range states.All() {
			if m, ok := state.(*data.Map); !ok || m.Value("result") != true {
				t.Errorf("state %v: %v", name, state)
			}
		}
	}
}

// TestSleepingMinionsRunTheirJob orders a job that takes longer than the orderer waits without a word.
func TestSleepingMinionsRunTheirJob(t *testing.T) {
	const count = 5
	masters, addresses := several(t, 1)
	start(t, swarm.Options{Count: count, Masters: addresses}, nil)
	l := masters[0].Client(t)
	begun := time.Now()
	j, err := l.Publish(t.Context(),
		client.Request{Target: "*", Kind: "glob", Fun: "test.sleep", Arg: []any{2.5}})
	if err != nil {
		t.Fatal(err)
	}
	wait := client.Wait{Timeout: 100 * time.Millisecond, Gather: time.Second, ShowSilent: true}
	answered := 0
	for r, err := range l.Results(t.Context(), j, wait) {
		if err != nil || r.Missing || r.Value != true {
			t.Errorf("%v, %v", r, err)
		}
		answered++
	}
	if answered != count || time.Since(begun) < 2500*time.Millisecond {
		t.Errorf("%d minions answered after %s", answered, time.Since(begun))
	}
}

// TestMinionsMove makes the first of three masters deaf while minions have returns for it, and then
// stops the second: the minions move on with their returns, and know the jobs that they have run.
func TestMinionsMove(t *testing.T) {
	const count, a, b = 10, 4, 3 // a begin with the first master, b with each of the others
	masters, addresses := several(t, 3)
	var isDeaf atomic.Bool
	w := &witness{runs: map[[2]string]int{}, acked: map[[2]string][]string{}}
	s := start(t, swarm.Options{Count: count, Masters: addresses, Old: 30, Observer: w},
		map[string]*atomic.Bool{"tcp://" + addresses[0]: &isDeaf})
	if got := s.Stats.Listening.Load(); got != count {
		t.Errorf("%d connections, want one for each minion", got)
	}
	isDeaf.Store(true)
	jid := order(t, masters[0], client.Request{Fun: "test.ping"})
	reaches(t, "returns", &s.Stats.Returned, a)
	reaches(t, "moves", &s.Stats.Moves, a)
	reaches(t, "connections", &s.Stats.Listening, count)
	if s.Stats.Resent.Load() < a {
		t.Errorf("%d returns were sent again, want %d", s.Stats.Resent.Load(), a)
	}
	masters[1].Stop(t)
	reaches(t, "moves", &s.Stats.Moves, a+a+b)
	reaches(t, "connections", &s.Stats.Listening, count)
	order(t, masters[2], client.Request{Fun: "test.ping", JID: jid})
	reaches(t, "publications", &s.Stats.Jobs, a+count)
	reaches(t, "repeated publications", &s.Stats.Repeated, a)
	reaches(t, "returns", &s.Stats.Returned, count)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs) != count {
		t.Errorf("%d minions ran the job, want %d", len(w.runs), count)
	}
	for key, n := range w.runs {
		want := addresses[2]
		if number := key[0][len(key[0])-1] - '0'; number%3 == 0 {
			want = addresses[1]
		}
		if got := w.acked[key]; n != 1 || len(got) != 1 || got[0] != want {
			t.Errorf("%s ran %d times, and returned to %q, want to %s", key, n, got, want)
		}
	}
}

// A twice is a subscriber that gets each publication twice.
type twice struct{ transport.Subscriber }

func (s twice) Run(ctx context.Context, fn func(topic, body []byte)) error {
	return s.Subscriber.Run(ctx, func(topic, body []byte) {
		again := bytes.Clone(body)
		fn(topic, body)
		fn(topic, again)
	})
}

// TestStalePublicationsAreCounted repeats a publication with its serial number.
func TestStalePublicationsAreCounted(t *testing.T) {
	masters, addresses := several(t, 1)
	wire, err := cli.MinionWire(config.DefaultMinion())
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, swarm.Options{Count: 5, Masters: addresses, Ports: swarm.Ports{Request: wire.Request,
		Subscribe: func(d transport.Dialer, topics ...string) transport.Subscriber {
			return twice{wire.Subscribe(d, topics...)}
		}}})
	order(t, masters[0], client.Request{Fun: "test.ping"})
	reaches(t, "returns", &s.Stats.Returned, 5)
	reaches(t, "stale publications", &s.Stats.Stale, 5)
	if s.Stats.Jobs.Load() != 5 || s.Stats.Failures.Load() != 0 {
		t.Errorf("%d jobs and %d failures", s.Stats.Jobs.Load(), s.Stats.Failures.Load())
	}
}

// TestConnectionsComeFromTheSources accepts the connections of minions.
func TestConnectionsComeFromTheSources(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, err := swarm.ParseSources("127.0.1.1-127.0.1.4")
	if err != nil {
		t.Fatal(err)
	}
	wire, err := cli.MinionWire(config.DefaultMinion())
	if err != nil {
		t.Fatal(err)
	}
	s, err := swarm.New(swarm.Options{Count: 8, Masters: []string{l.Addr().String()}, Sources: from,
		Keys: swarm.Keys{Distinct: 1}, Ports: swarm.Ports{Request: wire.Request, Subscribe: wire.Subscribe}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	seen := map[string]int{}
	for range 8 {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		seen[conn.RemoteAddr().(*net.TCPAddr).IP.String()]++
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the swarm: %v", err)
	}
	want := map[string]int{"127.0.1.1": 2, "127.0.1.2": 2, "127.0.1.3": 2, "127.0.1.4": 2}
	if !maps.Equal(seen, want) {
		t.Errorf("connections from %v, want %v", seen, want)
	}
}
