package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/internal/test/testnats"
)

// BenchmarkPublish measures the time of one publication after another.
func BenchmarkPublish(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			c := newSite(b, testnats.Options{Nodes: nodes}).join(b, "a")
			p, ctx, body := c.Publications(), patiently(b), make([]byte, 1000)
			for b.Loop() {
				if _, _, err := p.Publish(ctx, "", body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReturns measures returns of 1 kB that 256 goroutines add at the same time.
func BenchmarkReturns(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			c := newSite(b, testnats.Options{Nodes: nodes}).join(b, "a")
			r, ctx, body := c.Returns(), patiently(b), make([]byte, 1000)
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range 256 {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := r.Add(ctx, body); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "returns/s")
		})
	}
}
