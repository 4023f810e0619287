package pillar_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pillar"
)

func saved(t *testing.T, dir, backend string, ttl int64) *pillar.Saved {
	t.Helper()
	s, err := pillar.OpenSaved(data.NewMap("pillar_cache_backend", backend, "pillar_cache_ttl", ttl,
		"cachedir", dir))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSavedPillarsHaveTheirTime(t *testing.T) {
	for _, backend := range []string{"disk", "memory"} {
		t.Run(backend, func(t *testing.T) {
			dir := t.TempDir()
			s := saved(t, dir, backend, 60)
			now := time.Unix(1_800_000_000, 0)
			s.Clock(func() time.Time { return now })
			for env, v := range map[string]int64{"": 1, "dev": 2} {
				if err := s.Put("web1", env, data.NewMap("a", v)); err != nil {
					t.Fatal(err)
				}
			}
			look := func(id, env, want string) {
				t.Helper()
				p, ok := s.Get(id, env)
				if got := data.Repr(p); ok != (want != "") || ok && got != want {
					t.Errorf("%s %s: got %s, %v, want %s", id, env, got, ok, want)
				}
			}
			look("web1", "", "{'a': 1}")
			look("web1", "dev", "{'a': 2}")
			look("web1", "other", "")
			look("db1", "", "")
			look("../web1", "", "")
			now = now.Add(61 * time.Second)
			look("web1", "", "")
			if err := s.Put("web1", "", data.NewMap("a", int64(3))); err != nil {
				t.Fatal(err)
			}
			look("web1", "dev", "")
			look("web1", "", "{'a': 3}")
			if err := s.Prune(func(string) bool { return false }); err != nil {
				t.Fatal(err)
			}
			look("web1", "", "")
			if err := s.Put("../x", "", data.NewMap()); err == nil {
				t.Error("an id that is a path is taken")
			}
		})
	}
}

// Files have Salt's format, and invalid files count as missing.
func TestSavedFilesAreSalts(t *testing.T) {
	dir := t.TempDir()
	s := saved(t, dir, "disk", 3600)
	file := filepath.Join(dir, "pillar_cache", "web1")
	at := float64(time.Now().Unix())
	raw, err := payload.MarshalBin(data.NewMap("CacheDisk_data",
		data.NewMap("web1", data.NewMap(nil, data.NewMap("a", "b"))), "CacheDisk_cachetime",
		data.NewMap("web1", at)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, ok := s.Get("web1", ""); !ok || p.Text("a") != "b" {
		t.Errorf("got %s, %v", data.Repr(p), ok)
	}
	for _, bad := range []string{"", "x", "\x80", "\x81\xaeCacheDisk_data\x01", string(raw[:len(raw)-3])} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, ok := s.Get("web1", ""); ok {
			t.Errorf("%q is read as %s", bad, data.Repr(p))
		}
		if err := s.Put("web1", "", data.NewMap("a", "c")); err != nil {
			t.Error(err)
		}
		if p, ok := s.Get("web1", ""); !ok || p.Text("a") != "c" {
			t.Errorf("after %q: %s, %v", bad, data.Repr(p), ok)
		}
	}
	if _, err := pillar.OpenSaved(data.NewMap("pillar_cache_backend", "redis")); err == nil {
		t.Error("there is no such backend")
	}
}
