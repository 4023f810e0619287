package zeromq

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/transport"
)

const python = "/usr/bin/python3"

// needLibzmq skips a test where there is no libzmq with its Python binding.
func needLibzmq(t testing.TB) {
	t.Helper()
	if out, err := exec.Command(python, "-c", "import zmq").CombinedOutput(); err != nil {
		need.That(t, "python3-zmq", fmt.Errorf("%w: %s", err, out))
	}
}

// A libzmq is a peer on libzmq in a process of its own.
type libzmq struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	wg    sync.WaitGroup
	once  sync.Once
}

func startLibzmq(t testing.TB, mode, endpoint string, options ...string) *libzmq {
	t.Helper()
	return startProcess(t, exec.Command(python,
		append([]string{"testdata/libzmq.py", mode, endpoint}, options...)...))
}

func startProcess(t testing.TB, cmd *exec.Cmd) *libzmq {
	t.Helper()
	z := &libzmq{t: t, cmd: cmd, lines: make(chan string, 100_000)}
	in, err := z.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := z.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errors strings.Builder
	z.in, z.cmd.Stderr = in, &errors
	if err := z.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	z.wg.Go(func() {
		defer close(z.lines)
		s := bufio.NewScanner(out)
		for s.Buffer(nil, 1<<20); s.Scan(); {
			z.lines <- s.Text()
		}
	})
	t.Cleanup(func() {
		z.kill()
		if t.Failed() && errors.Len() > 0 {
			t.Logf("peer: %s", errors.String())
		}
	})
	return z
}

// kill ends the process as kill -9 does.
func (z *libzmq) kill() {
	z.once.Do(z.end)
}

func (z *libzmq) end() {
	_ = z.cmd.Process.Kill()
	z.wg.Wait()
	_ = z.cmd.Wait()
}

func (z *libzmq) line() string {
	z.t.Helper()
	select {
	case l, ok := <-z.lines:
		if !ok {
			z.t.Fatal("libzmq peer ended")
		}
		return l
	case <-time.After(patience):
		z.t.Fatal("libzmq peer says nothing")
	}
	return ""
}

func (z *libzmq) tell(format string, args ...any) {
	z.t.Helper()
	if _, err := fmt.Fprintf(z.in, format+"\n", args...); err != nil {
		z.t.Fatal(err)
	}
}

func TestLibzmqRequestsToOurReplier(t *testing.T) {
	needLibzmq(t)
	for _, tt := range []struct {
		name    string
		options []string
	}{
		{"REQ", nil},
		{"REQ with identity", []string{"identity=web1"}},
		{"REQ with heartbeats", []string{"heartbeat=20"}},
		{"DEALER", []string{"kind=DEALER"}},
		{"DEALER with frames of devices", []string{"kind=DEALER", "envelope=one,two"}},
		{"DEALER with heartbeats", []string{"kind=DEALER", "heartbeat=20"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, stop := startReplier(t, transport.Options{Limits: transport.Limits{PingEvery: 10 * time.Millisecond, DeadAfter: 10_000}}, echo)
			defer stop()
			z := startLibzmq(t, "req", "tcp://"+s.Addr().String(), tt.options...)
			defer z.kill()
			for _, n := range []int{0, 5, 255, 256, 100_000} {
				body := strings.Repeat("ab", n)
				z.tell("%s", body)
				if got := z.line(); got != body {
					t.Errorf("request of %d bytes came back as %.80q", n, got)
				}
			}
			waitPings(t, s.server)
			z.tell("ff")
			if got := z.line(); got != "ff" || s.Stats().Accepted != 1 {
				t.Errorf("after heartbeats: %q on connection %d", got, s.Stats().Accepted)
			}
		})
	}
}

// waitPings lets some intervals of heartbeats pass, in which the connection must not be lost.
func waitPings(t *testing.T, s *server) {
	t.Helper()
	sent := s.Stats().Sent
	eventually(t, "heartbeats", func() bool { return s.Stats().Sent >= sent+10 })
}

func TestLibzmqDealerBurst(t *testing.T) {
	needLibzmq(t)
	s, stop := startReplier(t, transport.Options{Workers: 1}, echo)
	defer stop()
	z := startLibzmq(t, "req", "tcp://"+s.Addr().String(), "kind=DEALER", "burst=2000")
	defer z.kill()
	for i := range 2000 {
		z.tell("%08x", i)
	}
	z.in.Close()
	for i := range 2000 {
		if got, want := z.line(), fmt.Sprintf("%08x", i); got != want {
			t.Fatalf("reply %d is %s", i, got)
		}
	}
}

func TestLibzmqSubscribers(t *testing.T) {
	needLibzmq(t)
	for _, tt := range []struct {
		name    string
		options []string
	}{
		{"SUB", []string{"topics=a,b"}},
		{"XSUB", []string{"kind=XSUB", "topics=a,b"}},
		{"SUB with identity and heartbeats", []string{"topics=a,b", "heartbeat=20", "identity=web1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, stop := startPublisher(t, transport.Options{Limits: transport.Limits{PingEvery: 10 * time.Millisecond, DeadAfter: 10_000}})
			defer func() { stop() }()
			endpoint := "tcp://" + p.Addr().String()
			z := startLibzmq(t, "sub", endpoint, tt.options...)
			defer z.kill()
			hear := func() {
				t.Helper()
				eventually(t, "subscriptions", func() bool { return p.subscriptions() == 2 })
				p.Publish(transport.Message{Topics: []string{"a1", "none", "b"}, Body: []byte("two")})
				p.Publish(transport.Message{Body: []byte("alone")})
				for _, want := range []string{frameHex("a1", "two"), frameHex("b", "two"),
					frameHex("alone")} {
					if got := z.line(); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				}
			}
			hear()
			waitPings(t, p.server)
			if p.Stats().Accepted != 1 {
				t.Error("heartbeats broke the connection")
			}
			stop()
			// the peer may connect to itself meanwhile, by the same port
			eventually(t, "the port is free", func() bool {
				again, err := ListenPub(t.Context(), endpoint, transport.Options{})
				if err == nil {
					p = again
				}
				return err == nil
			})
			stop = run(t, p.Serve)
			hear()
			z.kill()
			eventually(t, "no peers", func() bool { return p.Peers() == 0 })
		})
	}
}

func frameHex(parts ...string) string {
	var out []string
	for _, p := range parts {
		out = append(out, hex.EncodeToString([]byte(p)))
	}
	return strings.Join(out, "|")
}

// TestLibzmqDevices sends many requests at once through the chain of a Salt master, and restarts
// that.
func TestLibzmqDevices(t *testing.T) {
	needLibzmq(t)
	for _, options := range [][]string{nil, {"heartbeat=20"}} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			z := startLibzmq(t, "device", "tcp://127.0.0.1:*", options...)
			endpoint := z.line()
			q := NewRequester(transport.Dialer{Addr: endpoint, BackoffMin: time.Millisecond,
				BackoffMax: 10 * time.Millisecond,
				Limits:     transport.Limits{PingEvery: 50 * time.Millisecond, DeadAfter: 40}})
			defer q.Close()
			var wg sync.WaitGroup
			for i := range 500 {
				wg.Go(func() {
					body := strings.Repeat(fmt.Sprint(i, " "), 1+i*7%300)
					if got, err := q.Do(t.Context(), []byte(body)); string(got) != body {
						t.Errorf("Do = %.40q, %v", got, err)
					}
				})
			}
			wg.Wait()
			z.kill()
			z = startLibzmq(t, "device", endpoint, options...)
			z.line()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if got, err := untilConnected(ctx, q, "again"); got != "again" {
				t.Errorf("Do = %q, %v", got, err)
			}
		})
	}
}

// untilConnected repeats a request that meets the end of the old connection.
func untilConnected(ctx context.Context, q *Requester, body string) (string, error) {
	for {
		got, err := q.Do(ctx, []byte(body))
		if err == nil || ctx.Err() != nil {
			return string(got), err
		}
	}
}

func TestLibzmqPublisher(t *testing.T) {
	needLibzmq(t)
	for _, options := range [][]string{nil, {"heartbeat=20"}} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			z := startLibzmq(t, "pub", "tcp://127.0.0.1:*", options...)
			endpoint := z.line()
			got := make(chan string, 1000)
			d := transport.Dialer{Addr: endpoint, BackoffMin: time.Millisecond,
				BackoffMax: 10 * time.Millisecond, Identity: []byte("web1"),
				Limits: transport.Limits{PingEvery: 50 * time.Millisecond, DeadAfter: 40}}
			stop := run(t, func(ctx context.Context) error {
				return NewSubscriber(d, "a").Run(ctx,
					func(topic, body []byte) { got <- string(topic) + "|" + string(body) })
			})
			defer stop()
			hear := func() {
				t.Helper()
				for {
					z.tell("%s\n%s\n%s", frameHex("b", "not for us"), frameHex("a1", "two"),
						frameHex("alone"))
					select {
					case m := <-got:
						if m != "a1|two" {
							t.Fatalf("got %q", m)
						}
						if m := <-got; m != "|alone" {
							t.Fatalf("got %q", m)
						}
						return
					case <-time.After(5 * time.Millisecond):
					}
				}
			}
			hear()
			z.kill()
			for len(got) > 0 {
				<-got
			}
			z = startLibzmq(t, "pub", endpoint, options...)
			z.line()
			hear()
		})
	}
}
