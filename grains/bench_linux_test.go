package grains

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// BenchmarkCollect collects the grains of this host: files, programs and look-ups.
func BenchmarkCollect(b *testing.B) {
	c := New(Options{Opts: data.NewMap("id", "bench")})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Collect(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCollectFiles runs no programs: it measures the package itself.
func BenchmarkCollectFiles(b *testing.B) {
	c := New(Options{Opts: data.NewMap("id", "bench"),
		Env: func(string) string { return "/nonexistent" }, Root: b.TempDir()})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Collect(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart takes the grains from their cache.
func BenchmarkStart(b *testing.B) {
	c := New(Options{Opts: data.NewMap("id", "bench", "cachedir", b.TempDir(), "grains_cache", true)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
