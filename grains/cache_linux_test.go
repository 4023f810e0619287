package grains

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// TestCache starts a minion repeatedly: the cache is used while it is young, and Collect renews it.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	opts := data.NewMap("cachedir", dir, "grains_cache", true, "grains", data.NewMap("a", int64(1)))
	c := New(Options{Opts: opts, Root: t.TempDir()})
	path := filepath.Join(dir, "grains.cache.p")
	start := func(what string, want int64) {
		t.Helper()
		g, err := c.Start(t.Context())
		if err != nil || g.Value("a") != want {
			t.Errorf("%s: the grain is %v, %v, want %d", what, g.Value("a"), err, want)
		}
	}
	start("the first start", 1)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("the cache is %v, %v, want one for its owner alone", st, err)
	}
	opts.Set("grains", data.NewMap("a", int64(2)))
	start("a young cache", 1)
	start("a young cache again", 1)
	opts.Set("refresh_grains_cache", true)
	start("a refresh by the command line", 2)
	opts.Delete("refresh_grains_cache")

	opts.Set("grains", data.NewMap("a", int64(3)))
	for age, want := range map[time.Duration]int64{300500 * time.Millisecond: 2, 302 * time.Second: 3} {
		if err := payloadTo(path, data.NewMap("a", int64(2))); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		start("a cache of "+age.String(), want)
	}
	opts.Set("grains", data.NewMap("a", int64(4)))
	if g, err := c.Collect(t.Context()); err != nil || g.Value("a") != int64(4) {
		t.Errorf("Collect = %v, %v, want 4", g.Value("a"), err)
	}
	start("after Collect", 4)
	opts.Set("grains_cache", false)
	opts.Set("grains", data.NewMap("a", int64(5)))
	start("without grains_cache", 5)
}

func payloadTo(path string, m *data.Map) error {
	b, err := payload.MarshalBin(m)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// TestCacheContents checks that an unreadable cache is ignored, and that osrelease_info is a tuple
// again.
func TestCacheContents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "grains.cache.p")
	c := New(Options{Opts: data.NewMap("cachedir", dir, "grains_cache", true,
		"grains", data.NewMap("a", "new")), Root: t.TempDir()})
	for _, tt := range []struct {
		name, text, want string
	}{
		{"no MessagePack", "\xc1", "'new'"},
		{"cut off", "\x82\xa1a", "'new'"},
		{"a list", "\x91\x01", "'new'"},
		{"empty", "", "'new'"},
		{"an empty map", "\x80", "'new'"},
		{"Salt's", "\x82\xa1a\xa3old\xaeosrelease_info\x92\x0c\x01", "'old'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			writeFile(t, path, tt.text)
			g, err := c.Start(t.Context())
			if err != nil || data.Repr(g.Value("a")) != tt.want {
				t.Errorf("grain = %s, %v, want %s", data.Repr(g.Value("a")), err, tt.want)
			}
			if v, ok := g.Get("osrelease_info"); ok && tt.want == "'old'" && data.Repr(v) != "(12, 1)" {
				t.Errorf("osrelease_info = %s", data.Repr(v))
			}
		})
	}
}

// TestCacheCannotBeWritten checks that an unwritable directory only disables the cache.
func TestCacheCannotBeWritten(t *testing.T) {
	c := New(Options{Opts: data.NewMap("cachedir", filepath.Join(t.TempDir(), "none"),
		"grains_cache", true), Root: t.TempDir()})
	for range 2 {
		if g, err := c.Start(t.Context()); err != nil || g.Len() == 0 {
			t.Errorf("Start = %d grains, %v", g.Len(), err)
		}
	}
}
