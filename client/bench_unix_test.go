//go:build unix

package client

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// BenchmarkOrders orders the grains of four minions, several orders at once: with a connection to the
// bus for each order, and with one for all. The processor time includes that of the bus.
func BenchmarkOrders(b *testing.B) {
	for _, atOnce := range []int{2, 4, 16} {
		for _, shared := range []bool{false, true} {
			b.Run(fmt.Sprintf("at once=%d/shared=%v", atOnce, shared), func(b *testing.B) { orders(b, atOnce, shared) })
		}
	}
}

func orders(b *testing.B, atOnce int, shared bool) {
	ids := []any{"m1", "m2", "m3", "m4"}
	m := newFakeMaster(b, func(m *fakeMaster, load *data.Map) *data.Map {
		for _, id := range ids {
			m.fire(load.Text("jid"), id.(string), grains(), 0)
		}
		return published(load.Text("jid"), ids...)
	})
	var share *eventbus.Share
	if shared {
		share = eventbus.NewShare(eventbus.MasterSockets(m.dir), eventbus.ShareOptions{})
	}
	w := Wait{Timeout: time.Minute, Gather: time.Minute}
	var last atomic.Int64
	b.ReportAllocs()
	before := processorTime(b)
	b.SetParallelism(max(1, atOnce/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l, err := Open(b.Context(), Options{CacheDir: m.dir, SockDir: m.dir, Share: share, User: "root", Caller: "root", Out: m})
			if err != nil {
				b.Error(err)
				return
			}
			id := fmt.Sprintf("20260101%012d", last.Add(1))
			j, err := l.Publish(b.Context(), Request{Target: "*", Kind: "glob", Fun: "grains.items", JID: id})
			if err != nil {
				b.Error(err)
				return
			}
			n := 0
			for r, err := range l.Results(b.Context(), j, w) {
				if err != nil || r.Missing {
					b.Error(r, err)
				}
				n++
			}
			if n != len(ids) {
				b.Errorf("%d results", n)
			}
			l.Close()
		}
	})
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// grains returns a map of the size of a minion's grains.
func grains() *data.Map {
	m := data.NewMap()
	for i := range 100 {
		m.Set(fmt.Sprint("grain ", i), []any{"some value", int64(i), data.NewMap("name", "eth0", "address", "192.0.2.1")})
	}
	return m
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
