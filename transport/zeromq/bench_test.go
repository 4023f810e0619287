//go:build unix

package zeromq

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/transport"
)

// The comparisons run each server in a process of its own, ours in a copy of the test program and
// libzmq's under Python, which leaves the work to its I/O thread; what is compared is the CPU time
// of that process for the same load.

const benchBody = 1 << 10

// benchServer is the variable that makes the test program a server.
const benchServer = "BRINE_BENCH_SERVER"

// TestBenchServer is no test: it makes a copy of the test program the server of a comparison.
func TestBenchServer(t *testing.T) {
	if kind := os.Getenv(benchServer); kind != "" {
		serveBenchmark(kind)
	}
}

// serveBenchmark does what the lines on stdin say, as the mode cpu of testdata/libzmq.py does.
func serveBenchmark(kind string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limits := transport.Limits{QueueMessages: 100_000, QueueBytes: 1 << 30}
	p, publish, err := serverFor(ctx, kind, transport.Options{Limits: limits})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("tcp://" + p.String())
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		words := strings.Fields(s.Text())
		switch words[0] {
		case "publish":
			var n, size int
			_, _ = fmt.Sscan(words[1], &n)
			_, _ = fmt.Sscan(words[2], &size)
			publish(n, size)
			fmt.Println("ok")
		case "cpu":
			fmt.Println(cpuTime())
		}
	}
}

func serverFor(ctx context.Context, kind string, o transport.Options) (net.Addr, func(n, size int), error) {
	if kind == "ROUTER" {
		s, err := ListenReply(ctx, "tcp://127.0.0.1:0", o)
		if err != nil {
			return nil, nil, err
		}
		go func() { _ = s.Serve(ctx, echo) }()
		return s.Addr(), nil, nil
	}
	p, err := ListenPub(ctx, "tcp://127.0.0.1:0", o)
	if err != nil {
		return nil, nil, err
	}
	go func() { _ = p.Serve(ctx) }()
	return p.Addr(), func(n, size int) {
		body := make([]byte, size)
		for range n {
			p.Publish(transport.Message{Body: body})
		}
	}, nil
}

// cpuTime returns the CPU seconds of this process.
func cpuTime() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// startOurs runs a server of ours in a process of its own.
func startOurs(b *testing.B, kind string) *libzmq {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBenchServer$")
	cmd.Env = append(os.Environ(), benchServer+"="+kind)
	return startProcess(b, cmd)
}

func (z *libzmq) cpu() float64 {
	z.t.Helper()
	z.tell("cpu")
	var s float64
	if _, err := fmt.Sscan(z.line(), &s); err != nil {
		z.t.Fatal(err)
	}
	return s
}

// load connects clients by hand, so that they cost the same with each server.
func load(tb testing.TB, endpoint, kind string, n int) []net.Conn {
	tb.Helper()
	conns := make([]net.Conn, n)
	shake := []byte(hello(1) + readyAs(kind))
	var wg sync.WaitGroup
	places := make(chan struct{}, 100)
	var failed atomic.Value
	for i := range conns {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			c, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "tcp://"))
			if err != nil {
				failed.Store(err)
				return
			}
			_, _ = c.Write(shake)
			_, err = io.ReadFull(c, make([]byte, greetingLen+readyLen(kind)))
			if err != nil {
				failed.Store(err)
			}
			if kind == "SUB" { // libzmq takes no command before it has sent its READY
				_, _ = io.WriteString(c, "\x04\x0a\x09SUBSCRIBE")
			}
			conns[i] = c
		})
	}
	wg.Wait()
	tb.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	})
	if err := failed.Load(); err != nil {
		tb.Fatal(err)
	}
	return conns
}

// readyLen is the length of the READY of the server that a client of that kind talks to.
func readyLen(kind string) int {
	if kind == "SUB" {
		return shortHeader + 25
	}
	return shortHeader + 41
}

// BenchmarkFanOut sends 1,000 messages of 1 KiB to each of many subscribers. Its libzmq-ratio is
// our CPU time by libzmq's.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			needLibzmq(b)
			ours := fanOut(b, startOurs(b, "PUB"), n)
			theirs := fanOut(b, startLibzmq(b, "cpu", "tcp://127.0.0.1:*", "kind=PUB"), n)
			deliveries := float64(b.N * n * 1000)
			b.ReportMetric(ours.cpu/theirs.cpu, "libzmq-ratio")
			b.ReportMetric(ours.cpu/deliveries*1e9, "cpu-ns/delivery")
			b.ReportMetric(ours.wall/theirs.wall, "libzmq-time-ratio")
		})
	}
}

type cost struct{ cpu, wall float64 }

func fanOut(b *testing.B, z *libzmq, n int) cost {
	b.Helper()
	defer z.kill()
	conns := load(b, z.line(), "SUB", n)
	size := 1000 * (longHeader + benchBody)
	round(b, z, conns, 1, longHeader+benchBody) // all subscriptions are in effect after this
	before, begun := z.cpu(), time.Now()
	for range b.N {
		round(b, z, conns, 1000, size)
	}
	return cost{z.cpu() - before, time.Since(begun).Seconds()}
}

// round publishes and waits until every subscriber has read all of it.
func round(b *testing.B, z *libzmq, conns []net.Conn, messages, size int) {
	b.Helper()
	if messages == 1 {
		// nothing tells that the subscriptions of libzmq's peers are in effect
		time.Sleep(200 * time.Millisecond)
	}
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
			if _, err := io.CopyN(io.Discard, c, int64(size)); err != nil {
				b.Errorf("subscriber: %v", err)
			}
		})
	}
	z.tell("publish %d %d", messages, benchBody)
	z.line()
	wg.Wait()
}

// BenchmarkRequests sends requests of 1 KiB, which are echoed, from clients that each wait for
// their reply.
func BenchmarkRequests(b *testing.B) {
	for _, n := range []int{1, 16, 256, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			needLibzmq(b)
			ours := requestLoad(b, startOurs(b, "ROUTER"), n)
			theirs := requestLoad(b, startLibzmq(b, "cpu", "tcp://127.0.0.1:*", "kind=ROUTER"), n)
			b.ReportMetric(ours.cpu/theirs.cpu, "libzmq-ratio")
			b.ReportMetric(ours.cpu/float64(b.N)*1e6, "cpu-us/request")
			b.ReportMetric(theirs.wall/ours.wall, "libzmq-throughput-ratio")
		})
	}
}

func requestLoad(b *testing.B, z *libzmq, n int) cost {
	b.Helper()
	defer z.kill()
	conns := load(b, z.line(), "REQ", n)
	exchange(b, conns, n)
	before, begun := z.cpu(), time.Now()
	exchange(b, conns, b.N)
	return cost{z.cpu() - before, time.Since(begun).Seconds()}
}

// exchange does n requests and replies in all, one at a time on each connection.
func exchange(tb testing.TB, conns []net.Conn, n int) {
	tb.Helper()
	message := []byte(frames("", strings.Repeat("x", benchBody)))
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			buf := make([]byte, len(message))
			for left.Add(-1) >= 0 {
				if _, err := c.Write(message); err != nil {
					tb.Error(err)
					return
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRequester sends requests from many goroutines over one connection of a client of ours.
func BenchmarkRequester(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	addr, _, err := serverFor(ctx, "ROUTER", transport.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer cancel()
	q := NewRequester(quick(addr))
	defer q.Close()
	body := make([]byte, benchBody)
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := q.Do(ctx, body); err != nil {
				b.Error(err)
			}
		}
	})
}

// mallocs counts the allocations of this process while f runs.
func mallocs(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// TestAllocations guards what a request and a delivery may cost.
func TestAllocations(t *testing.T) {
	t.Run("request", func(t *testing.T) {
		s, stop := startReplier(t, transport.Options{}, echo)
		defer stop()
		conns := load(t, "tcp://"+s.Addr().String(), "REQ", 4)
		exchange(t, conns, 100)
		const n = 4000
		if got := mallocs(func() { exchange(t, conns, n) }) / n; got > 8.1 { // the test has a few of its own
			t.Errorf("%.2f allocations for each request, want at most 8", got)
		}
	})
	t.Run("delivery", func(t *testing.T) {
		p, stop := startPublisher(t, transport.Options{})
		defer stop()
		const peers, n = 100, 500
		conns := load(t, "tcp://"+p.Addr().String(), "SUB", peers)
		eventually(t, "subscriptions", func() bool { return p.subscriptions() == peers })
		bufs := make([][]byte, peers)
		for i := range bufs {
			bufs[i] = make([]byte, longHeader+benchBody)
		}
		body := make([]byte, benchBody)
		got := mallocs(func() {
			for range n {
				p.Publish(transport.Message{Body: body})
				for i, c := range conns {
					if _, err := io.ReadFull(c, bufs[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
		if got /= peers * n; got > 0.1 {
			t.Errorf("%.3f allocations for each delivery, want none", got)
		}
	})
}
