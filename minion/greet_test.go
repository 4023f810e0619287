package minion_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/minion"
)

// A holdup stands before a publish port. It lets a subscriber connect, but what that says after the
// handshake reaches the publisher only when the test wants it, as with a busy master.
type holdup struct {
	net.Listener
	to      string
	held    chan struct{} // closed when the subscriptions and the question after them are here
	release func()
	free    chan struct{} // closed by release
	all     sync.WaitGroup
}

func startHoldup(t *testing.T, to net.Addr) *holdup {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &holdup{Listener: l, to: to.String(), held: make(chan struct{}), free: make(chan struct{})}
	h.release = sync.OnceFunc(func() { close(h.free) })
	h.all.Go(h.serve)
	t.Cleanup(func() {
		h.release()
		h.Close()
		h.all.Wait()
	})
	return h
}

// serve passes one connection on.
func (h *holdup) serve() {
	in, err := h.Accept()
	if err != nil {
		return
	}
	defer in.Close()
	out, err := net.Dial("tcp", h.to)
	if err != nil {
		return
	}
	defer out.Close()
	h.all.Go(func() {
		defer in.Close()
		_, _ = io.Copy(in, out)
	})
	h.hold(in, out)
	_, _ = io.Copy(out, in)
}

// hold passes greeting and READY on, and waits with the rest up to the first PING.
func (h *holdup) hold(in, out net.Conn) {
	if _, err := io.CopyN(out, in, 64); err != nil {
		return
	}
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return
	}
	if _, err := out.Write(head); err != nil {
		return
	}
	if _, err := io.CopyN(out, in, int64(head[1])); err != nil {
		return
	}
	var said []byte
	for !bytes.Contains(said, []byte("\x04PING")) {
		b := make([]byte, 1)
		if _, err := io.ReadFull(in, b); err != nil {
			return
		}
		said = append(said, b...)
	}
	close(h.held)
	<-h.free
	_, _ = out.Write(said)
}

// TestFirstJobAfterTheStart checks that a minion whose subscription takes long to count neither
// says that it is ready nor announces its start before, so that the first job that is ordered then
// reaches it.
func TestFirstJobAfterTheStart(t *testing.T) {
	f := &fleet{master: testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t))), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	_, publish := f.master.Master.Addrs()
	h := startHoldup(t, publish)
	cfg := testsalt.MinionConfig(f.dir, "web1", f.master.Address)
	_, port, _ := net.SplitHostPort(h.Addr().String())
	cfg.PublishPort, _ = strconv.Atoi(port)
	ready := runMinion(t, cfg, testsalt.MinionOptions(t, cfg))
	start := make(chan error, 1)
	go func() {
		for {
			e, err := f.events.Next(t.Context())
			if err != nil || e.Tag == "salt/minion/web1/start" {
				start <- err
				return
			}
		}
	}()
	select {
	case <-start:
		t.Fatal("the start is announced before the subscription counts")
	case <-ready:
		t.Fatal("the minion says that it is ready before its subscription counts")
	case <-h.held:
	}
	if len(start)+len(ready) > 0 {
		t.Error("the minion did not wait until its subscription counted")
	}
	h.release()
	if err := <-start; err != nil {
		t.Fatal(err)
	}
	<-ready
	if ret := f.run(t, "test.ping"); ret.Value("return") != true {
		t.Errorf("the first job: %s", data.Repr(ret))
	}
}

// runMinion runs a minion until the end of the test; the channel gets an element when it is ready.
func runMinion(t *testing.T, cfg *config.Minion, o minion.Options) <-chan struct{} {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	m, err := minion.New(ctx, cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ready, done := make(chan struct{}, 1), make(chan error, 1)
	go func() { done <- m.Run(ctx, func() { ready <- struct{}{} }) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("minion: %v", err)
		}
	})
	return ready
}

// TestReadyWithoutMaster checks that a minion whose master is not there is ready all the same,
// without waiting for long.
func TestReadyWithoutMaster(t *testing.T) {
	cfg := testsalt.MinionConfig(testsalt.Dir(t), "web1", freeport.Address(t))
	select {
	case <-runMinion(t, cfg, testsalt.MinionOptions(t, cfg)):
	case <-time.After(20 * time.Second):
		t.Error("the minion does not get ready")
	}
}
