package master

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
)

// BenchmarkPublish takes the clear request of a job, keeps the job in memory, and signs and seals
// the publication.
func BenchmarkPublish(b *testing.B) {
	m := newBench(b, nil, "web1", "db1")
	body, err := payload.Marshal(data.NewMap("enc", "clear",
		"load", m.load("*", "glob", "test.ping", []any{}), "version", int64(3)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.ask(body)
	}
}

// BenchmarkReturn takes the returns of jobs, as the channel hands them over.
func BenchmarkReturn(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkReturn(b, nil) })
	b.Run("disk", func(b *testing.B) {
		store, err := jobstore.Open(b.Context(), filepath.Join(b.TempDir(), "jobs.db"), jobstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { store.Close() })
		benchmarkReturn(b, store)
	})
}

// perJob is how many minions answer one job.
const perJob = 100

func benchmarkReturn(b *testing.B, store returners.JobCache) {
	m := newBench(b, nil, "web1")
	ret := &returning{jobs: m.jobs, keys: m.keys, cacheReturns: true,
		base: base{bus: m.bus, ids: job.NewIDs(time.Now), now: time.Now, log: silent(b),
			settings: newSettings(config.DefaultMaster())},
		quota: newOwnQuota(time.Now, func() time.Duration { return 0 })}
	if store != nil {
		ret.jobs = store
	}
	ret.progress = newProgress(ret.jobs, &offline{}, time.Now)
	ids := job.NewIDs(time.Now)
	minions := make([]string, perJob)
	for i := range minions {
		minions[i] = fmt.Sprintf("minion%05d", i)
	}
	jobLoad, err := payload.MarshalBin(data.NewMap("tgt", "*", "tgt_type", "glob", "fun", "test.ping"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(16) // as many returns are under way
	work := make(chan *channel.Command)
	go func() {
		defer close(work)
		for n := 0; n < b.N; {
			id := ids.Next()
			if err := ret.jobs.SaveJob(b.Context(),
				&returners.Job{ID: id, Load: jobLoad, Minions: minions, Started: time.Now()}); err != nil {
				b.Error(err)
				return
			}
			for i := 0; i < perJob && n < b.N; i++ {
				raw, _ := payload.Marshal(returnOf(minions[i], id, true))
				fields, _ := payload.ParseFields(raw, payload.WireLimits())
				work <- &channel.Command{Name: "_return", Load: fields, Version: 3,
					Caller: channel.Caller{ID: minions[i], Proved: true}}
				n++
			}
		}
	}()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := ret.ret(context.Background(), <-work); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkEvent takes an event of a minion, with listeners in the process.
func BenchmarkEvent(b *testing.B) {
	for _, listeners := range []int{0, 10} {
		b.Run(fmt.Sprintf("listeners=%d", listeners), func(b *testing.B) {
			m := newBench(b, nil, "web1")
			for range listeners {
				s := m.bus.Subscribe(eventbus.SubscribeOptions{Name: "benchmark"})
				go func() {
					for range s.All(b.Context()) {
					}
				}()
			}
			raw, err := payload.Marshal(data.NewMap("id", "web1", "cmd", "_minion_event",
				"pretag", nil, "tag", "my/tag", "data", data.NewMap("a", "b")))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				fields, err := payload.ParseFields(raw, payload.WireLimits())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := m.requests.Encrypted(b.Context(),
					&channel.Command{Name: "_minion_event", Load: fields, Version: 3,
						Caller: channel.Caller{ID: "web1", Proved: true}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
