package eventbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/payload"
)

// serve serves a bus on fresh sockets until the test ends, or stop is called.
func serve(t testing.TB, b *Bus, o ServeOptions) (s Sockets, stop func()) {
	t.Helper()
	s = MasterSockets(shortDir(t))
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	o.Ready = func() { close(ready) }
	go func() { done <- b.Serve(ctx, s, o) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("Serve: %v", err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return s, stop
}

// shortDir is t.TempDir with a name that a socket path can hold.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func connect(t *testing.T, s Sockets, o ClientOptions) *Client {
	t.Helper()
	c, err := Dial(t.Context(), s, o)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestClientFiresAndListens(t *testing.T) {
	b := New(Options{})
	s, stop := serve(t, b, ServeOptions{})
	inside := b.Subscribe(SubscribeOptions{})
	c := connect(t, s, ClientOptions{Subscribe: SubscribeOptions{Prefixes: []string{"my/"}}})
	for _, tag := range []string{"other", "my/tag"} {
		if err := c.Fire(t.Context(), tag, data.NewMap("a", "é")); err != nil {
			t.Fatal(err)
		}
	}
	m, err := next(t, c).Map()
	if err != nil || m.Text("a") != "é" || m.Text("_stamp") == "" {
		t.Errorf("client got %v, %v", data.Repr(m), err)
	}
	if e := next(t, inside); e.Tag != "other" {
		t.Errorf("subscription got %q", e.Tag)
	}
	stop()
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next after the end = %v, want ErrClosed", err)
	}
	for _, path := range []string{s.Pub, s.Pull} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind: %v", path, err)
		}
	}
}

// A connected program gets the next event, even if the daemon has not accepted the connection yet.
func TestNothingIsLostAfterDial(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("connections are taken in before an event only on linux")
	}
	b := New(Options{})
	s, _ := serve(t, b, ServeOptions{})
	for i := range 300 {
		c := connect(t, s, ClientOptions{})
		b.Fire(fmt.Sprint("t", i), nil)
		if e := next(t, c); e.Tag != fmt.Sprint("t", i) {
			t.Fatalf("client %d got %q first", i, e.Tag)
		}
		c.Close()
	}
}

func TestStalledReaderHarmsNobody(t *testing.T) {
	log, hook := test.NewNullLogger()
	b := New(Options{Log: log})
	s, _ := serve(t, b, ServeOptions{StallLimit: time.Hour, DrainLimit: time.Millisecond, MaxBytes: 4 << 20})
	stall(t, s)
	live := connect(t, s, ClientOptions{})
	const events = 20_000
	taken := make(chan struct{}, 1000) // the live reader's pace, so that it stays within its own bounds
	go func() {
		for i := range events {
			taken <- struct{}{}
			b.Fire("t", data.NewMap("n", int64(i), "fill", strings.Repeat("x", 500)))
		}
	}()
	for i := range events {
		m, err := next(t, live).Map()
		if err != nil || m.Value("n") != int64(i) {
			t.Fatalf("event %d is %v, %v", i, m, err)
		}
		<-taken
	}
	if got := entries(hook, "too slow"); got != 1 {
		t.Errorf("%d lines tell of dropped events, want 1", got)
	}
}

// TestSlowProgramLearnsOfItsGap checks that a program that reads too slowly gets a notice after the events in
// its queue. A second program reads all events and gets no notice.
func TestSlowProgramLearnsOfItsGap(t *testing.T) {
	b := New(Options{})
	s, _ := serve(t, b, ServeOptions{StallLimit: time.Hour, DrainLimit: time.Millisecond, MaxBytes: 1 << 20})
	live := connect(t, s, ClientOptions{})
	slow := connect(t, s, ClientOptions{Subscribe: SubscribeOptions{MaxEvents: 10, Prefixes: []string{"t"},
		Gaps: true}})
	const events = 10_000
	for i := range events {
		b.Fire("t", data.NewMap("n", int64(i), "fill", strings.Repeat("x", 500)))
		if e := next(t, live); e.Tag != "t" {
			t.Fatalf("the program that reads all gets %s", e.Tag)
		}
	}
	read := int64(0)
	for {
		e := next(t, slow)
		m, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		if e.Tag == DroppedTag {
			if missed := m.Value("dropped").(int64); missed != events-read || read == 0 {
				t.Errorf("%d events read, %d missed, of %d", read, missed, events)
			}
			break
		}
		if m.Value("n") != read {
			t.Fatalf("event %d is %v", read, m.Value("n"))
		}
		read++
	}
}

func TestStalledReaderIsCut(t *testing.T) {
	log, hook := test.NewNullLogger()
	b := New(Options{Log: log})
	s, _ := serve(t, b, ServeOptions{StallLimit: 50 * time.Millisecond})
	conn := stall(t, s)
	for entries(hook, "disconnected") == 0 {
		b.Fire("t", data.NewMap("fill", strings.Repeat("x", 10_000)))
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		t.Errorf("the connection is still open: %v", err)
	}
}

// stall connects a reader that takes nothing.
func stall(t *testing.T, s Sockets) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", s.Pub)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func entries(h *test.Hook, part string) (n int) {
	for _, e := range h.AllEntries() {
		if strings.Contains(e.Message, part) {
			n++
		}
	}
	return n
}

func TestBadWriterIsCutAlone(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{})
	s, _ := serve(t, b, ServeOptions{})
	good := connect(t, s, ClientOptions{FireOnly: true})
	if err := good.Fire(t.Context(), "one", nil); err != nil {
		t.Fatal(err)
	}
	next(t, sub)
	for _, junk := range []string{"\xc1", "rubbish", "\x01", "\xdf\xff\xff\xff\xff",
		"\x82\xa4head\x80\xa4body\xc6\xff\xff\xff\xff"} {
		conn, err := net.Dial("unix", s.Pull)
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(junk))
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || isTimeout(err) {
			t.Errorf("%q: read %d, %v; want the end of the connection", junk, n, err)
		}
		conn.Close()
	}
	if err := good.Fire(t.Context(), "two", nil); err != nil {
		t.Fatal(err)
	}
	if e := next(t, sub); e.Tag != "two" {
		t.Errorf("got %q", e.Tag)
	}
}

func TestBadEventIsDroppedAlone(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{})
	s, _ := serve(t, b, ServeOptions{})
	conn, err := net.Dial("unix", s.Pull)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var stream []byte
	for _, body := range []string{"", "no tag end", "t\n\n", "t\n\n\x01", "t\n\n\x81\xa1a",
		"t\n\n\x80\x80", "\n\n\x80", "\xff\n\n\x80", "good\n\n\x80"} {
		stream = payload.AppendFrame(stream, []byte(body))
	}
	for _, c := range stream { // byte by byte: frames come in parts
		if _, err := conn.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if e := next(t, sub); e.Tag != "good" || !bytes.Equal(e.Data, []byte{0x80}) {
		t.Errorf("got %q %q", e.Tag, e.Data)
	}
}

func TestManyWriters(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{})
	s, _ := serve(t, b, ServeOptions{})
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			c, err := Dial(t.Context(), s, ClientOptions{FireOnly: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for i := range 100 {
				if err := c.Fire(t.Context(), fmt.Sprint("w", w), data.NewMap("i", int64(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	last := map[string]int64{}
	for range 2000 {
		e := next(t, sub)
		m, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		if i := m.Value("i").(int64); i != last[e.Tag] {
			t.Fatalf("%s: event %d, want %d", e.Tag, i, last[e.Tag])
		}
		last[e.Tag]++
	}
	wg.Wait()
}

func TestEndDrainsReaders(t *testing.T) {
	b := New(Options{})
	s, stop := serve(t, b, ServeOptions{DrainLimit: 20 * time.Second})
	c := connect(t, s, ClientOptions{Subscribe: SubscribeOptions{MaxEvents: 10}})
	const events = 3000
	for range events {
		b.Fire("t", data.NewMap("fill", strings.Repeat("x", 1000)))
	}
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	for range events {
		next(t, c)
	}
	<-ended
}

func TestListenRefuses(t *testing.T) {
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	live, _ := serve(t, New(Options{}), ServeOptions{})
	free := filepath.Join(dir, "free")
	for _, tt := range []struct {
		name, path, want string
		s                Sockets
	}{
		{"a file in the way", file, "not a socket", Sockets{"unix", file, free}},
		{"a live bus", live.Pub, "another process", live},
		{"a live pull socket", live.Pull, "another process", Sockets{"unix", free, live.Pull}},
		{"a long path", strings.Repeat("x", 108), "107", Sockets{"unix", strings.Repeat("x", 108), free}},
		{"no directory", "/nonexistent/a", "no such file", Sockets{"unix", "/nonexistent/a", free}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := New(Options{}).Serve(t.Context(), tt.s, ServeOptions{})
			if err == nil || !strings.Contains(err.Error(), tt.path) ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("Serve = %v, want an error with %q and %q", err, tt.path, tt.want)
			}
		})
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "x" {
		t.Errorf("the file in the way: %q, %v", got, err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	s := MasterSockets(shortDir(t))
	for _, path := range []string{s.Pub, s.Pull} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed process leaves it
		l.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := New(Options{}).Serve(ctx, s, ServeOptions{PubMode: 0o660, Ready: func() {
		checkMode(t, s.Pub, 0o660)
		checkMode(t, s.Pull, 0o600)
		cancel()
	}})
	if err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: mode %v, %v; want %v", path, info.Mode().Perm(), err, want)
	}
}

func TestTCP(t *testing.T) {
	ports := freeport.New(t, 2)
	s := TCPSockets(ports[0], ports[1])
	ctx, cancel := context.WithCancel(t.Context())
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{})
	err := b.Serve(ctx, s, ServeOptions{Ready: func() {
		c := connect(t, s, ClientOptions{FireOnly: true})
		if err := c.Fire(t.Context(), "t", nil); err != nil {
			t.Error(err)
		}
		go func() {
			defer cancel()
			if _, err := sub.Next(t.Context()); err != nil {
				t.Error(err)
			}
		}()
	}})
	if err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestFireWithoutDaemon(t *testing.T) {
	s := MasterSockets(shortDir(t))
	if _, err := Dial(t.Context(), s, ClientOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Dial = %v, want fs.ErrNotExist", err)
	}
	c := connect(t, s, ClientOptions{FireOnly: true})
	if err := c.Fire(t.Context(), "t", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Fire = %v, want fs.ErrNotExist", err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next = %v, want ErrClosed", err)
	}
}

func TestFireAfterRestart(t *testing.T) {
	b := New(Options{})
	s := MasterSockets(shortDir(t))
	c := connect(t, s, ClientOptions{FireOnly: true})
	for range 2 {
		sub := b.Subscribe(SubscribeOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		err := b.Serve(ctx, s, ServeOptions{Ready: func() {
			if err := c.Fire(t.Context(), "t", nil); err != nil {
				t.Error(err)
			}
			go func() {
				defer cancel()
				if _, err := sub.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}})
		if err != nil {
			t.Fatal(err)
		}
		sub.Close()
	}
}

// TestEventOfManySmallValues sends what Salt's library does not trim, as the result of
// jobs.list_jobs with many jobs: it passes both sockets whole.
func TestEventOfManySmallValues(t *testing.T) {
	b := New(Options{})
	s, _ := serve(t, b, ServeOptions{})
	listener := connect(t, s, ClientOptions{Subscribe: SubscribeOptions{Prefixes: []string{"salt/run/"}}})
	jobs := data.NewMap()
	for i := range 50_000 {
		jobs.Set(fmt.Sprintf("20261122%012d", i),
			data.NewMap("Function", "saltutil.refresh_pillar", "Arguments", "[]", "StartTime",
				"2026, Nov 22 05:41:33.123456", "Target", "*", "Target-type", "glob", "User", "root"))
	}
	raw, err := payload.Marshal(data.NewMap("return", jobs))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", s.Pull)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(framed("salt/run/1/ret", append(begin("salt/run/1/ret", 0), raw...),
		len(raw)).frame); err != nil {
		t.Fatal(err)
	}
	m, err := next(t, listener).Map()
	if got, _ := m.Value("return").(*data.Map); err != nil || got.Len() != jobs.Len() {
		t.Errorf("of %d jobs in %d bytes came %v, %v", jobs.Len(), len(raw), got.Len(), err)
	}
}
