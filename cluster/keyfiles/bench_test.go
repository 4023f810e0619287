package keyfiles

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/brineproject/brine/pki"
)

var sizes = []int{100, 10_000}

// filled returns a member with n accepted keys, whose directories are older than a clock tick.
func (s *site) filled(b *testing.B, n int) *member {
	b.Helper()
	m := s.visitor(b, fmt.Sprint("a", n))
	k := newKeys(b, 1)[0]
	for i := range n {
		m.write(pki.Accepted, fmt.Sprint("web", i), k)
	}
	return m
}

// aged makes the directories and files look old.
func (m *member) aged(b *testing.B) {
	b.Helper()
	old := time.Now().Add(-time.Hour)
	for _, state := range states {
		must(b, os.Chtimes(m.path(state, ""), old, old))
	}
}

func BenchmarkScan(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newSite(b, 1).filled(b, n)
			m.open()
			f := m.files
			f.scan()
			m.aged(b)
			f.scan()
			for more := true; more; {
				_, more = f.queue.take(batch)
			}
			b.Run("at rest", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.scan()
				}
			})
			b.Run("after a change of a directory", func(b *testing.B) {
				i := 0
				for b.Loop() {
					i++
					old := time.Now().Add(-time.Hour + time.Duration(i))
					must(b, os.Chtimes(m.path(pki.Accepted, ""), old, old))
					f.scan()
				}
			})
			b.Run("of each file", func(b *testing.B) {
				for b.Loop() {
					f.lastFull = time.Time{}
					f.scan()
				}
			})
		})
	}
}

// BenchmarkChange measures a change on one member until another has it in its files, with Sync and
// without.
func BenchmarkChange(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newSite(b, 1)
			one := s.filled(b, n)
			start := time.Now()
			one.start()
			one.settles()
			b.Logf("a master with %d keys joins in %s", n, time.Since(start))
			start = time.Now()
			other := s.member(b, "other")
			other.settles()
			b.Logf("a master without keys joins in %s", time.Since(start))
			one.stop()
			start = time.Now()
			one.start()
			one.settles()
			b.Logf("a restart takes %s", time.Since(start))
			from, to := pki.Accepted, pki.Rejected
			for name, sync := range map[string]bool{"Sync": true, "a scan": false} {
				b.Run("with "+name, func(b *testing.B) {
					for b.Loop() {
						one.mv("web7", from, to)
						if sync {
							must(b, one.files.Sync(patiently(b), "web7"))
						}
						for other.has("web7") != one.has("web7") {
							time.Sleep(time.Millisecond)
						}
						from, to = to, from
					}
				})
			}
		})
	}
}
