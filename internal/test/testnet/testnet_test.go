//go:build linux

package testnet

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const port = 7000

// inside calls a function on a thread in the network of a host.
func (h *Host) inside(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		done <- func() error {
			file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", h.pid))
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return do()
		}()
	}()
	return <-done
}

// serve takes connections on a host and greets.
func (h *Host) serve(t *testing.T) {
	t.Helper()
	var l net.Listener
	must(t, h.inside(func() (err error) {
		l, err = net.Listen("tcp", fmt.Sprintf("%s:%d", h.Address, port))
		return err
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{1}) // the client tells if it does not arrive
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

// greeted returns nil if a server on a host answers.
func (h *Host) greeted() error {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", h.Address, port), 500*time.Millisecond)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// TestHosts drops packets between hosts, and on one.
func TestHosts(t *testing.T) {
	if !Need(t) {
		return
	}
	hosts := Start(t, 2)
	a, b := hosts[0], hosts[1]
	for i, h := range hosts {
		text := h.run(t, "ip", "-o", "address")
		if !strings.Contains(text, h.Address+mask) || strings.Contains(text, hosts[1-i].Address+mask) {
			t.Errorf("addresses of %s: %s", h.Name, text)
		}
		h.serve(t)
	}
	askB := func() error { return a.inside(b.greeted) }
	for _, tt := range []struct {
		name  string
		drops []Drop
		fails bool
		met   []bool
	}{
		{"both directions", Both(a, b), true, []bool{true, false}}, // what does not arrive has no answer
		{"one direction", []Drop{{a, b, nil}}, true, []bool{true}},
		{"the answers", []Drop{{b, a, nil}}, true, []bool{true}},
		{"the answers of a port", []Drop{{b, a, []int{port, port + 1}}}, true, []bool{true}},
		{"another port", Both(a, b, port+1), false, []bool{false, false}},
		{"on the host itself", Both(b, b), false, []bool{false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Cut
			c.Start(t, tt.drops...)
			if err := askB(); (err != nil) != tt.fails {
				t.Errorf("an answer from %s: %v", b.Name, err)
			}
			if err := b.greeted(); err != nil {
				t.Errorf("the test does not reach %s: %v", b.Name, err)
			}
			for i, n := range c.Heal(t) {
				if (n > 0) != tt.met[i] {
					t.Errorf("%d packets %s were dropped", n, tt.drops[i])
				}
			}
			if err := askB(); err != nil {
				t.Errorf("after %v: %v", tt.drops, err)
			}
		})
	}
	var own Cut
	own.Start(t, Both(a, a, port)...)
	if err := a.inside(a.greeted); err == nil || own.Heal(t)[0] == 0 {
		t.Errorf("%s reaches itself: %v", a.Name, err)
	}
}
