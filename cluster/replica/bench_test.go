package replica

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/cluster"
)

// BenchmarkFetch compares reads with those of the files.
func BenchmarkFetch(b *testing.B) {
	m := newMember(b, newSite(b, 1).join(b, "a").Values(cluster.Data), Options{}).start()
	must(b, m.Store("minions/m", "data", make([]byte, 4096)))
	m.sent()
	for name, bank := range map[string]cache.Bank{"files": m.files, "replica": m} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := bank.Fetch("minions/m", "data"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStore measures changes of 4 kB in a lazy bank, one after another over all keys, and the
// same values again; files is the local cache alone. sends/op are changes that reached the cluster.
func BenchmarkStore(b *testing.B) {
	for _, keys := range []int{100, 10_000} {
		for _, what := range []string{"files", "changed", "unchanged"} {
			b.Run(fmt.Sprintf("keys=%d/%s", keys, what), func(b *testing.B) {
				var bank cache.Bank
				var m *member
				if what == "files" {
					dir := filepath.Join(b.TempDir(), "cache")
					must(b, os.Mkdir(dir, 0o700))
					files, err := localfs.Open(dir)
					must(b, err)
					defer files.Close()
					bank = files
				} else {
					m = newMember(b, newSite(b, 1).join(b, "a").Values(cluster.Data), Options{}).start()
					m.sent()
					bank = m
				}
				banks := make([]string, keys)
				value := bytes.Repeat([]byte("v"), 4096)
				for i := range banks {
					banks[i] = fmt.Sprint("minions/m", i)
					must(b, bank.Store(banks[i], "data", value))
				}
				if m != nil {
					m.sent()
					m.shelf.writes.Store(0)
				}
				n := 0
				for b.Loop() {
					if what != "unchanged" {
						copy(value, fmt.Sprint(n))
					}
					must(b, bank.Store(banks[n%keys], "data", value))
					n++
				}
				if m != nil {
					b.ReportMetric(float64(m.shelf.writes.Load())/float64(b.N), "sends/op")
				}
			})
		}
	}
}
