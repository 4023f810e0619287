package master

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners/localcache"
)

// mirrorAll writes what waits to be mirrored.
func (b *bench) mirrorAll(t testing.TB) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.parts.mirror.run(ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestJobsAreMirrored has returns of a published job, of a schedule and of a runner come, and looks
// for them as Salt does.
func TestJobsAreMirrored(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.LocalCacheHours = 2 }, "web1", "db1")
	if info, err := os.Stat(filepath.Join(b.cfg.CacheDir, "proc")); err != nil || !info.IsDir() {
		t.Errorf("salt-run of Salt 3008 finds no directory proc: %v", err)
	}
	b.publish(t, "*", "glob", "20260101000000000001")
	for range 2 { // a return that comes again changes nothing
		b.send(t, "_return", "web1", returnOf("web1", "20260101000000000001", "one"))
		b.mirrorAll(t)
	}
	b.send(t, "_return", "db1", returnOf("db1", "20260101000000000001", data.NewMap("a", int64(1))))
	b.send(t, "_return", "web1", returnOf("web1", job.Req, int64(7)))
	b.mirrorAll(t)
	c, err := localcache.Open(filepath.Join(b.cfg.CacheDir, "jobs"), localcache.Options{})
	must(t, err)
	defer c.Close()
	got := map[job.ID]int{}
	for _, id := range b.jobs.all() {
		j, err := c.Job(t.Context(), id)
		if err != nil {
			t.Errorf("job %s: %v", id, err)
			continue
		}
		fields, err := payload.ParseFields(j.Load, payload.WireLimits())
		must(t, err)
		if fun, _ := fields.Text("fun"); fun != "test.ping" {
			t.Errorf("job %s is of function %q", id, fun)
		}
		returns, err := c.Returns(t.Context(), id)
		must(t, err)
		got[id] = len(returns)
		for _, r := range returns {
			fields, err := payload.ParseFields(r.Load, payload.WireLimits())
			must(t, err)
			want := any(int64(7))
			if id == "20260101000000000001" {
				want = map[string]any{"web1": "one", "db1": data.NewMap("a", int64(1))}[r.Minion]
			}
			if v := fields.Value("return"); !data.Equal(v, want) ||
				!data.Equal(fields.Value("retcode"), int64(0)) || fields.Value("success") != true {
				t.Errorf("job %s: %s returned %s, want %s", id, r.Minion, data.Repr(v), data.Repr(want))
			}
		}
	}
	if len(got) != 2 || got["20260101000000000001"] != 2 {
		t.Errorf("returns by job: %v", got)
	}
}

// TestMirrorIsCleaned drops mirrored jobs when their hours are over, markers with them, and nothing
// that Salt has written.
func TestMirrorIsCleaned(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.LocalCacheHours = 2 }, "web1")
	b.publish(t, "web1", "list", "20260101000000000001")
	b.send(t, "_return", "web1", returnOf("web1", "20260101000000000001", "one"))
	b.mirrorAll(t)
	m := newMarkers(b.cfg, b.parts.jobs, b.parts.now)
	folder := func(id job.ID) string {
		name, err := id.Dir(m.hash)
		must(t, err)
		return filepath.Join(m.dir, name)
	}
	salts := folder("20260101000000000002")
	must(t, os.MkdirAll(filepath.Join(salts, "web1"), 0o755))
	must(t, os.WriteFile(filepath.Join(salts, "jid"), []byte("20260101000000000002"), 0o644))
	must(t, os.WriteFile(filepath.Join(salts, "web1", "return.p"), nil, 0o644))
	start := time.Now()
	for _, tt := range []struct {
		after       time.Duration
		ours, salts bool
	}{{0, true, true}, {time.Hour, true, true}, {3 * time.Hour, false, true}} {
		m.now = func() time.Time { return start.Add(tt.after) }
		must(t, m.clean())
		_, ours := os.Stat(folder("20260101000000000001"))
		_, theirs := os.Stat(salts)
		if (ours == nil) != tt.ours || (theirs == nil) != tt.salts {
			t.Errorf("after %v: ours %v, Salt's %v", tt.after, ours, theirs)
		}
	}
}

// TestMirrorIsBounded gives a mirror that does not run more than may wait.
func TestMirrorIsBounded(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.LocalCacheHours = 2 })
	m := b.parts.mirror
	for range 2 * mirrorQueue {
		m.add("20260101000000000001", "web1", make(data.Raw, 100))
	}
	if len(m.queue) != mirrorQueue || m.bytes.Load() != 100*mirrorQueue {
		t.Errorf("%d returns of %d bytes wait", len(m.queue), m.bytes.Load())
	}
	b.mirrorAll(t)
	for range 8 {
		m.add("20260101000000000001", "web1", make(data.Raw, mirrorBytes/4))
	}
	if len(m.queue) != 4 || m.bytes.Load() != mirrorBytes {
		t.Errorf("%d returns of %d bytes wait", len(m.queue), m.bytes.Load())
	}
	b.mirrorAll(t)
	m.add("20260101000000000001", "web1", make(data.Raw, mirrorBytes+1))
	if len(m.queue) != 1 {
		t.Error("a large return alone is not taken")
	}
	b.mirrorAll(t)
	if m.bytes.Load() != 0 {
		t.Errorf("%d bytes wait when nothing does", m.bytes.Load())
	}
}

// TestMirrorIsOffWithoutSalt checks that local_cache_hours decides, and that nothing is mirrored
// into Salt's own job cache.
func TestMirrorIsOffWithoutSalt(t *testing.T) {
	for hours, want := range map[int]bool{0: false, 5: true} {
		b := newBench(t, func(c *config.Master) { c.LocalCacheHours = hours })
		if got := b.parts.mirror != nil; got != want {
			t.Errorf("local_cache_hours: %d mirrors: %v, want %v", hours, got, want)
		}
	}
}

// TestMirrorIsOnWhereSaltRunIsOnThePath puts programs named salt-run on the PATH of a host without
// Salt's packages.
func TestMirrorIsOnWhereSaltRunIsOnThePath(t *testing.T) {
	for text, want := range map[string]bool{
		"#!/opt/venv/bin/python3.11\nimport re\n":                            true,
		"#!/bin/sh\n'''exec' /a/long/path/bin/python \"$0\" \"$@\"\n' '''\n": true,
		"#!/bin/sh\nexec /opt/brine/salt-run \"$@\"\n":                       false,
		"\x7fELF\x02python": false,
		"":                  false,
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "salt-run"), []byte(text), 0o755))
		if got := hasSaltRun(dir); got != want {
			t.Errorf("a salt-run of %q is Salt's: %v, want %v", text, got, want)
		}
		t.Setenv("PATH", "/nonexistent"+string(filepath.ListSeparator)+dir)
		if want && mirrorHours(config.DefaultMaster()) != saltHours {
			t.Errorf("with a salt-run of %q on the PATH returns are not mirrored", text)
		}
	}
	if hasSaltRun(t.TempDir()) {
		t.Error("an empty directory holds Salt's salt-run")
	}
}

// BenchmarkMirror is what a return costs that is mirrored.
func BenchmarkMirror(b *testing.B) {
	m := &markers{dir: b.TempDir(), hash: "sha256", withReturns: true, now: time.Now}
	load, err := payload.MarshalBin(returnOf("web1", "20260101000000000001", "one"))
	must(b, err)
	ids := job.NewIDs(time.Now)
	for b.Loop() {
		b.StopTimer()
		id := ids.Next()
		name, err := id.Dir(m.hash)
		must(b, err)
		folder := filepath.Join(m.dir, name)
		must(b, errors.Join(os.MkdirAll(folder, 0o700),
			os.WriteFile(filepath.Join(folder, "jid"), nil, 0o600)))
		b.StartTimer()
		if found, err := m.addReturn(id, "web1", load); !found || err != nil {
			b.Fatal(found, err)
		}
	}
}
