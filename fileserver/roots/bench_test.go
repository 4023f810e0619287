package roots

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
)

func BenchmarkServe(b *testing.B) {
	dir := b.TempDir()
	const size = 100 << 20
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i * i >> 7)
	}
	name := filepath.Join(dir, "big")
	if err := os.WriteFile(name, content, 0o644); err != nil {
		b.Fatal(err)
	}
	s := fileserver.New(fileserver.Options{Backends: []fileserver.Backend{backend(true, "base", []any{dir})}})
	defer s.Close()
	plain := timed(b, func() { // a program that only reads the file
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		for {
			n, _ := f.Read(make([]byte, 1<<20))
			if n == 0 {
				break
			}
		}
		f.Close()
	})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := length(b.Context(), s); err != nil || got != size {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/plain, "×plain")
}

func length(ctx context.Context, s *fileserver.Server) (n int64, err error) {
	for {
		c, err := s.Serve(ctx, fileserver.Request{Path: "big", Env: "base", Loc: n, Client: "web1"})
		if n += int64(len(c.Data)); err != nil || len(c.Data) == 0 {
			return n, err
		}
	}
}

func BenchmarkHash(b *testing.B) {
	dir := b.TempDir()
	content := make([]byte, 100<<20)
	if err := os.WriteFile(filepath.Join(dir, "big"), content, 0o644); err != nil {
		b.Fatal(err)
	}
	backend := backend(true, "base", []any{dir})
	plain := timed(b, func() {
		sha256.Sum256(content)
	})
	b.Run("first", func(b *testing.B) {
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			s := fileserver.New(fileserver.Options{Backends: []fileserver.Backend{backend}})
			if _, err := s.Hash(b.Context(), "big", "base"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/plain, "×plain")
	})
	b.Run("again", func(b *testing.B) {
		age := fileserver.New(fileserver.Options{Backends: []fileserver.Backend{backend}})
		for b.Loop() {
			if _, err := age.Hash(b.Context(), "big", "base"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		for j := range 50 {
			put(b, dir, fmt.Sprintf("%d/%d=x", i, j))
		}
	}
	walk := func() (n int) {
		_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, _ error) error {
			if !e.IsDir() {
				n++
			}
			return nil
		})
		return n
	}
	plain := timed(b, func() {
		if n := walk(); n != 10_000 {
			b.Fatal(n)
		}
	})
	for _, tt := range []struct {
		name string
		o    Options
	}{{"read", Options{}}, {"kept", Options{ListAge: defaultListAge}}} {
		b.Run(tt.name, func(b *testing.B) {
			tt.o.Roots, tt.o.FollowSymlinks, tt.o.Log = data.NewMap("base", []any{dir}), true, silent()
			r := New(tt.o)
			b.ReportAllocs()
			for b.Loop() {
				if list, err := r.List(b.Context(), "base", fileserver.Files, ""); err != nil ||
					len(list) != 10_000 {
					b.Fatal(len(list), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/plain, "×plain")
		})
	}
}

// timed returns the nanoseconds that f takes, the best of five runs.
func timed(b *testing.B, f func()) float64 {
	b.Helper()
	best := time.Duration(1<<63 - 1)
	for range 5 {
		began := time.Now()
		f()
		best = min(best, time.Since(began))
	}
	return float64(best)
}
