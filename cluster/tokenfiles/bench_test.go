package tokenfiles

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const many = 10_000

func (m *member) fill(n int) {
	m.t.Helper()
	for i := range n {
		name := fmt.Sprintf("%064x", i)
		must(m.t, os.WriteFile(m.path(name), []byte(strings.Repeat("x", 200)), 0o600))
	}
}

// aged makes the directory look old.
func (m *member) aged() {
	old := time.Now().Add(-time.Hour)
	must(m.t, os.Chtimes(m.dir(), old, old))
}

func BenchmarkLook(b *testing.B) {
	m := newSite(b, 1).visitor(b, "a")
	m.fill(many)
	var err error
	m.files, err = Open(m.dir(), m.values, m.o)
	must(b, err)
	m.aged()
	f := m.files
	f.directory.info = nil
	_, err = f.directory.look(true)
	must(b, err)
	f.directory.listed = time.Now().Add(time.Hour) // so that no file is new
	b.Run("at rest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := f.directory.look(false)
			must(b, err)
		}
	})
	b.Run("of each file", func(b *testing.B) {
		for b.Loop() {
			f.directory.listed = time.Now().Add(time.Hour)
			_, err := f.directory.look(true)
			must(b, err)
		}
	})
}

// BenchmarkChange measures a token until another member has it, in a cluster with many.
func BenchmarkChange(b *testing.B) {
	s := newSite(b, 1)
	one := s.visitor(b, "a")
	one.fill(many)
	start := time.Now()
	one.start()
	one.settles()
	b.Logf("a member with %d tokens joins in %s", many, time.Since(start))
	start = time.Now()
	other := s.member(b, "b")
	other.settles()
	b.Logf("a member without tokens joins in %s", time.Since(start))
	one.stop()
	start = time.Now()
	one.start()
	one.settles()
	b.Logf("a restart takes %s", time.Since(start))
	one.files.full = defaultFull
	n := 0
	for b.Loop() {
		n++
		name := fmt.Sprintf("%064x", many+n)
		must(b, os.WriteFile(one.path(name), []byte("x"), 0o600))
		for !other.has(name) {
			time.Sleep(time.Millisecond)
		}
	}
}
