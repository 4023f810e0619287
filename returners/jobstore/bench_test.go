package jobstore

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/returners/returnertest"
)

// results is a text with about as many repetitions as the results of states have.
func results(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		name := fmt.Sprintf("/etc/app/part%04d.conf", i)
		fmt.Fprintf(&b, "file_|-app_%04d_|-%s_|-managed changes comment File %[2]s is in the correct state "+
			"name %[2]s result __sls__ app.config __run_num__ %[1]d start_time 10:20:30.405060 duration %[3]d", i, name,
			i*7919%10_000)
	}
	return b.String()[:size]
}

// BenchmarkSaveReturn saves returns as the master does, looking up the job before; each is durable. Those of
// 20,000 bytes are like results of states.
func BenchmarkSaveReturn(b *testing.B) {
	for _, c := range []struct{ callers, size int }{{1, 200}, {16, 200}, {256, 200}, {256, 4 << 10},
		{256, 20_000}, {1, 64 << 20}} {
		b.Run(fmt.Sprintf("callers=%d/bytes=%d", c.callers, c.size), func(b *testing.B) {
			s, _, _ := newStore(b)
			j := returnertest.Job(b, 1, "test.echo", make([]string, 300)...)
			s.saves(b, j)
			var value any = noise(1, c.size)
			if c.size == 20_000 {
				value = results(c.size)
			}
			r := returnertest.Return(b, j.ID, "", value, 1)
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			each(b, c.callers, func(n int) error {
				own := *r
				own.Minion = fmt.Sprint("minion", n)
				if _, err := s.Job(b.Context(), j.ID); err != nil {
					return err
				}
				_, err := s.SaveReturn(b.Context(), j.ID, &own)
				return err
			})
		})
	}
}

func BenchmarkSaveJob(b *testing.B) {
	for _, callers := range []int{1, 256} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s, _, _ := newStore(b)
			b.ReportAllocs()
			each(b, callers, func(n int) error {
				return s.SaveJob(b.Context(), returnertest.Job(b, n, "test.ping", "web1", "web2", "web3"))
			})
		})
	}
}

func BenchmarkJob(b *testing.B) {
	s, _, _ := newStore(b)
	j := returnertest.Job(b, 1, "test.echo", "web1")
	s.saves(b, j)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Job(b.Context(), j.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// each calls do b.N times from a number of concurrent callers.
func each(b *testing.B, callers int, do func(n int) error) {
	var (
		next atomic.Int64
		all  sync.WaitGroup
	)
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := do(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkMemory reports how much an open store that has saved a few returns adds to the process's
// memory.
func BenchmarkMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("needs /proc")
	}
	for b.Loop() {
		before := resident(b)
		s, _, _ := newStore(b)
		opened := resident(b)
		j := returnertest.Job(b, 1, "test.echo", "web1")
		s.saves(b, j)
		for n := range 1000 {
			s.savesReturn(b, j.ID, returnertest.Return(b, j.ID, fmt.Sprint("web", n), make([]byte, 500), 1))
		}
		used := resident(b)
		s.savesReturn(b, j.ID, returnertest.Return(b, j.ID, "long", make([]byte, 64<<20), 1))
		b.ReportMetric(opened-before, "MB-opened")
		b.ReportMetric(used-before, "MB-used")
		b.ReportMetric(resident(b)-before, "MB-after-64MB")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// resident returns the resident memory of the process in MB.
func resident(b *testing.B) float64 {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	var kb float64
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
