package master_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// crowdOf is how many minions sign in anew; BRINE_SWARM sets another number.
func crowdOf(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("BRINE_SWARM"))
	if err != nil {
		return 2000
	}
	return n
}

// BenchmarkReturnsWhileACrowdSignsIn rotates the session key under 2,000 minions and gives them a
// job, so that all sign in anew at once, and asks one more minion again and again meanwhile.
// quiet-ms and storm-ms are the medians of its answers, storm-p99-ms the ninety-ninth percentile,
// and crowd-s the time until all of the crowd have returned.
func BenchmarkReturnsWhileACrowdSignsIn(b *testing.B) {
	for b.Loop() {
		dir := testsalt.Dir(b)
		m := testsalt.StartMaster(b, testsalt.MasterConfig(filepath.Join(dir, "m")))
		starts := m.Listen(b, "salt/minion/")
		testsalt.StartMinion(b, testsalt.MinionConfig(filepath.Join(dir, "n"), "probe", m.Address))
		testsalt.AwaitEvent(b, starts, "salt/minion/probe/start")
		crowd := join(b, m.Address)
		probe := m.Client(b)
		quiet := ask(b, probe, func(n int) bool { return n < 200 })
		if err := (pki.DropFile{Dir: m.Config.CacheDir}).Request(); err != nil {
			b.Fatal(err)
		}
		testsalt.AwaitEvent(b, m.Listen(b, "key"), "key")
		begin := time.Now()
		if _, err := m.Client(b).Publish(b.Context(),
			client.Request{Target: "swarm*", Kind: "glob", Fun: "test.ping",
				Timeout: time.Minute}); err != nil {
			b.Fatal(err)
		}
		back := func() bool { return crowd.Stats.Returned.Load() >= int64(crowdOf(b)) }
		storm := ask(b, probe, func(int) bool { return !back() && time.Since(begin) < 2*time.Minute })
		if !back() {
			b.Errorf("%d of the crowd have returned", crowd.Stats.Returned.Load())
		}
		b.ReportMetric(time.Since(begin).Seconds(), "crowd-s")
		b.ReportMetric(quantile(quiet, 0.5), "quiet-ms")
		b.ReportMetric(quantile(storm, 0.5), "storm-ms")
		b.ReportMetric(quantile(storm, 0.99), "storm-p99-ms")
		b.ReportMetric(quantile(storm, 0.5)/quantile(quiet, 0.5), "ratio")
	}
}

// join runs a crowd until the end of the benchmark, and waits until all listen.
func join(b *testing.B, address string) *swarm.Swarm {
	b.Helper()
	s, err := swarm.New(swarm.Options{Count: crowdOf(b), Prefix: "swarm", Master: address,
		Keys: swarm.Keys{Distinct: 16},
		Ports: swarm.Ports{Request: func(d transport.Dialer) transport.Requester { return zeromq.NewRequester(d) },
			Subscribe: func(d transport.Dialer, topics ...string) transport.Subscriber {
				return zeromq.NewSubscriber(d, topics...)
			}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) &&
			!errors.Is(err, channel.ErrRejected) {
			b.Error(err)
		}
	})
	b.Cleanup(func() { cancel(); done.Wait() })
	select {
	case <-s.Ready():
	case <-time.After(3 * time.Minute):
		b.Fatalf("%d of the crowd listen", s.Stats.Listening.Load())
	}
	return s
}

// ask pings one minion again and again, and returns how long each answer took, in milliseconds.
func ask(b *testing.B, c *client.Local, goOn func(n int) bool) []float64 {
	b.Helper()
	var took []float64
	for goOn(len(took)) {
		begin := time.Now()
		job, err := c.Publish(b.Context(),
			client.Request{Target: "probe", Kind: "glob", Fun: "test.ping", Timeout: 30 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range c.Results(b.Context(), job,
			client.Wait{Timeout: 30 * time.Second, Gather: 5 * time.Second}) {
			if err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
	}
	return took
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
