package eventbus

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestShare checks that the readers of a Share have one connection while there are any, and that each
// gets every event of its tags.
func TestShare(t *testing.T) {
	var connections atomic.Int64
	b := New(Options{})
	s, stop := serve(t, b, ServeOptions{Wants: func(int) func(string) bool { connections.Add(1); return nil }})
	share := NewShare(s, ShareOptions{Prefixes: []string{"a/", "b/"}})
	subscribe := func(prefixes ...string) *SharedReader {
		t.Helper()
		r, err := share.Subscribe(t.Context(), SubscribeOptions{Prefixes: prefixes})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	one, two := subscribe("a/"), subscribe("a/", "b/")
	for _, tag := range []string{"c/1", "b/1", "a/1"} {
		b.Fire(tag, nil)
	}
	for _, want := range []struct {
		r   *SharedReader
		tag string
	}{{one, "a/1"}, {two, "b/1"}, {two, "a/1"}} {
		if e := next(t, want.r); e.Tag != want.tag {
			t.Errorf("a reader got %q, want %q", e.Tag, want.tag)
		}
	}
	one.Close()
	one.Close()
	b.Fire("a/2", nil)
	if e := next(t, two); e.Tag != "a/2" {
		t.Errorf("after the end of another reader: %q", e.Tag)
	}
	two.Close()
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	if _, err := two.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next of a closed reader = %v, want ErrClosed", err)
	}
	for i := range 100 { // each is the only one, and connects anew
		r := subscribe("a/")
		b.Fire(fmt.Sprint("a/", i), nil)
		if e := next(t, r); e.Tag != fmt.Sprint("a/", i) {
			t.Fatalf("reader %d got %q first", i, e.Tag)
		}
		r.Close()
	}
	late := subscribe("a/")
	b.Fire("a/last", nil)
	stop()
	if e := next(t, late); e.Tag != "a/last" {
		t.Errorf("the last event before the end is lost: %q", e.Tag)
	}
	if _, err := late.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next after the end of the daemon = %v, want ErrClosed", err)
	}
	if r, err := share.Subscribe(t.Context(), SubscribeOptions{}); err == nil {
		r.Close()
		t.Error("a reader of a daemon that has ended is accepted")
	}
}
