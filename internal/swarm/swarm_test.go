package swarm_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// busy is how long a busy publish port ignores a new connection.
const busy = 300 * time.Millisecond

// A porter is a proxy for a publish port that delays each connection.
type porter struct{ net.Listener }

func startPorter(t *testing.T, to string) *porter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(busy, func() { join(in, to) })
		}
	}()
	return &porter{l}
}

// join forwards data between in and the address to until one of them closes.
func join(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, in)
		out.Close()
	}()
	_, _ = io.Copy(in, out)
}

// TestAllAnswerTheFirstJob submits a job as soon as the swarm is ready, at a publish port that is
// slow to accept connections: a swarm that reports that it is connected must not miss later
// publications.
func TestAllAnswerTheFirstJob(t *testing.T) {
	for _, kind := range []string{"zeromq", "tcp"} {
		t.Run(kind, func(t *testing.T) {
			const simulated = 100
			cfg := testsalt.MasterConfig(testsalt.Dir(t))
			cfg.Transport = kind
			m := testsalt.StartMaster(t, cfg)
			_, publish := m.Master.Addrs()
			s := gather(t, m.Address, kind, simulated, startPorter(t, publish.String()))
			select {
			case <-s.Ready():
			case <-time.After(time.Minute):
				t.Fatalf("%d of %d minions listen", s.Stats.Listening.Load(), simulated)
			}
			l := m.Client(t)
			j, err := l.Publish(t.Context(),
				client.Request{Target: "*", Kind: "glob", Fun: "test.ping", Timeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			answered := 0
			for r, err := range l.Results(t.Context(), j,
				client.Wait{Timeout: 20 * time.Second, Gather: time.Second}) {
				if err != nil {
					t.Fatal(err)
				}
				if !r.Missing && r.Value == true {
					answered++
				}
			}
			if answered != simulated || s.Stats.Failures.Load() > 0 {
				t.Errorf("%d of %d minions answered, with %d failures", answered, simulated,
					s.Stats.Failures.Load())
			}
		})
	}
}

// gather runs a swarm, connected through the porter, until the end of the test.
func gather(t *testing.T, master, kind string, count int, p *porter) *swarm.Swarm {
	t.Helper()
	cfg := config.DefaultMinion()
	cfg.Transport = kind
	wire, err := cli.MinionWire(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := swarm.New(swarm.Options{Count: count, Prefix: "m", Master: master,
		Keys: swarm.Keys{Distinct: 2}, Log: testsalt.Log(t), Ports: swarm.Ports{
			Request: wire.Request,
			Subscribe: func(d transport.Dialer, topics ...string) transport.Subscriber {
				d.Addr = "tcp://" + p.Addr().String()
				return wire.Subscribe(d, topics...)
			},
		}})
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
	return s
}

// A swarm signs in like minions of Salt, with both versions of the protocol, and answers.
func TestCrowdsLikeSalts(t *testing.T) {
	for _, like := range []swarm.Like{swarm.Salt30060, swarm.Salt300618} {
		t.Run(string(like), func(t *testing.T) {
			cfg := testsalt.MasterConfig(testsalt.Dir(t))
			cfg.MinimumAuthVersion = 2
			m := testsalt.StartMaster(t, cfg)
			s := run(t, swarm.Options{Count: 3, Prefix: "web", Master: m.Address,
				Keys: swarm.Keys{Distinct: 1}, Returns: 2, Like: like, Log: m.Log})
			if got := s.Stats.Requests.Load(); got != 3*2 || s.Stats.Failures.Load() != 0 {
				t.Errorf("%d requests and %d failures, want 6 and none", got, s.Stats.Failures.Load())
			}
		})
	}
	if _, err := swarm.ParseLike("3005"); err == nil {
		t.Error("3005 is taken")
	}
}
