package tcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
)

const python = "/usr/bin/python3"

// A peer is one on Python's msgpack, in a process of its own.
type peer struct {
	t     *testing.T
	lines *bufio.Scanner
	in    io.Closer
	cmd   *exec.Cmd
}

// startPeer skips the test where there is no python3-msgpack.
func startPeer(t *testing.T, args ...string) *peer {
	t.Helper()
	if out, err := exec.Command(python, "-c", "import msgpack").CombinedOutput(); err != nil {
		need.That(t, "python3-msgpack", fmt.Errorf("%w: %s", err, out))
	}
	cmd := exec.Command(python, append([]string{"testdata/peer.py"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &peer{t, bufio.NewScanner(out), in, cmd}
}

func (p *peer) line() string {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the peer has ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

func portOf(a net.Addr) string { return fmt.Sprint(a.(*net.TCPAddr).Port) }

// TestPythonRequests checks that ids of any kind come back as they were, with replies in any order.
func TestPythonRequests(t *testing.T) {
	later := make(chan struct{})
	var once sync.Once
	s, stop := serveReplies(t, transport.Options{}, func(_ context.Context, r transport.Request) {
		env, err := payload.ParseEnvelope(r.Body(), payload.PreAuthLimits())
		if err != nil {
			t.Error(err)
			return
		}
		load, _ := env.Fields(payload.PreAuthLimits())
		n, _ := load.Int("n")
		if n == 0 {
			<-later // the first is answered after others
		} else {
			defer once.Do(func() { close(later) })
		}
		reply, _ := payload.Marshal(fmt.Sprint("reply ", n))
		_ = r.Reply(reply)
	})
	defer stop()
	p := startPeer(t, "request", portOf(s.Addr()))
	var got []string
	for range 5 {
		got = append(got, p.line())
	}
	if got[0] == "1 reply 0" {
		t.Error("the first was answered first")
	}
	slices.Sort(got)
	want := []string{"1 reply 0", "2 reply 1", "2147483646 reply 2",
		"4b9c3d4e-8a1f-4c53-9d0f-3b8a5e2f1c7d reply 3"}
	if !slices.Equal(got[:4], want) || got[4][:4] != "xxxx" {
		t.Errorf("replies %q, want %q and a long one", got, want)
	}
}

// TestPythonAnswers checks that replies in another order reach who asked.
func TestPythonAnswers(t *testing.T) {
	p := startPeer(t, "answer")
	q := tcp.NewRequester(transport.Dialer{Addr: "tcp://127.0.0.1:" + p.line()}, nil)
	defer q.Close()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			body, _ := payload.Marshal(data.NewMap("enc", "aes", "load", []byte{0xff, byte(i)}))
			reply, err := q.Do(t.Context(), body)
			if err != nil {
				t.Error(err)
				return
			}
			if fields, err := payload.ParseFields(reply, payload.WireLimits()); err != nil ||
				string(fields[1].Value[2:]) != string([]byte{0xff, byte(i)}) {
				t.Errorf("request %d: reply %q, %v", i, reply, err)
			}
		})
	}
	all.Wait()
}

func TestPythonSubscribes(t *testing.T) {
	p, stop := servePublications(t, transport.Options{}, func(hello []byte) (string, error) {
		env, err := payload.ParseEnvelope(hello, payload.PreAuthLimits())
		if err != nil {
			return "", err
		}
		id, _ := env.Blob()
		return string(id), nil
	})
	defer stop()
	peer := startPeer(t, "subscribe", portOf(p.Addr()), "web1")
	eventually(t, func() bool { return slices.Equal(idsOf(p), []string{"web1"}) })
	p.Publish(transport.Message{Body: []byte("for another"), IDs: []string{"db1"}})
	p.Publish(transport.Message{Body: []byte("for web1"), IDs: []string{"web1"}})
	p.Publish(transport.Message{Body: []byte("for all")})
	if got := []string{peer.line(), peer.line()}; !slices.Equal(got, []string{"for web1", "for all"}) {
		t.Errorf("publications %q", got)
	}
}

func TestPythonPublishes(t *testing.T) {
	p := startPeer(t, "publish")
	hello := func(context.Context) ([]byte, error) {
		return payload.Marshal(data.NewMap("enc", "aes", "load", "it is me"))
	}
	got := make(chan []byte, 2)
	s := tcp.NewSubscriber(transport.Dialer{Addr: "tcp://127.0.0.1:" + p.line(), Hello: hello}, nil)
	defer run(t, func(ctx context.Context) error { return s.Run(ctx, func(_, body []byte) { got <- body }) })()
	if hello := p.line(); hello != "it is me" {
		t.Errorf("hello %q", hello)
	}
	for range 2 {
		fields, err := payload.ParseFields(<-got, payload.WireLimits())
		load, _ := fields.Bytes("load")
		if err != nil || string(load) != "\xff\xfe" {
			t.Errorf("load %q, %v", load, err)
		}
	}
}
