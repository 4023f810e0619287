package fileclient

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
)

func tree(t *testing.T) *fakeMaster {
	t.Helper()
	m := newMaster(map[string]string{"base/dir/a.txt": "a", "base/dir/sub/b.py": "b",
		"base/dir/sub/c.so": long(2500), "base/dirt/d": "d",
		"base/dir/what?x": "odd", "base/top.sls": "{}", "base/st/init.sls": "{}",
		"base/st/more.sls": "{}", "dev/e": "e"})
	m.empty = []string{"dir/empty/deep", "other"}
	return m
}

// under returns paths relative to a directory.
func under(t *testing.T, dir string, paths []string) []string {
	t.Helper()
	out := make([]string, len(paths))
	for i, p := range paths {
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = rel
	}
	return out
}

func TestCacheDirTwice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		choice Choice
		want   []string
	}{
		{"all", Choice{}, []string{"a.txt", "sub/b.py", "sub/c.so", "what?x"}},
		{"a glob", Choice{Include: []string{"*.py"}}, []string{"sub/b.py"}},
		{"an expression", Choice{Include: []string{`E@\.(pyx?|so|zip)$`}}, []string{"sub/b.py", "sub/c.so"}},
		{"both", Choice{Include: []string{"dir/sub/*"}, Exclude: []string{"E@b.py"}}, []string{"sub/c.so"}},
		{"several", Choice{Include: []string{"*.txt", "*.so"}}, []string{"a.txt", "sub/c.so"}},
		{"without some", Choice{Exclude: []string{"*.txt", "E@^dir/sub"}}, []string{"what?x"}},
		{"empty folders, too", Choice{Empty: true, Include: []string{"*.txt"}},
			[]string{"a.txt", "empty/deep"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tree(t)
			c := m.client(t)
			for i := range 2 {
				paths, err := c.CacheDir(t.Context(), "salt://dir/", "base", tt.choice)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.want, under(t, filepath.Join(c.opts.CacheDir, "files/base/dir"),
					paths)); d != "" {
					t.Error(d)
				}
				if n := m.count("_serve_file"); i == 1 && n != 0 {
					t.Errorf("%d pieces were asked for again", n)
				}
			}
		})
	}
	if _, err := tree(t).client(t).CacheDir(t.Context(), "salt://dir",
		"base", Choice{Include: []string{"E@("}}); err == nil {
		t.Error("an expression that is none is taken")
	}
}

func TestCacheMasterAndCached(t *testing.T) {
	m := tree(t)
	c := m.client(t)
	for range 2 {
		paths, err := c.CacheMaster(t.Context(), "base")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"dir/a.txt", "dir/sub/b.py", "dir/sub/c.so", "dir/what?x", "dirt/d",
			"st/init.sls", "st/more.sls", "top.sls"}
		if d := cmp.Diff(want, under(t, filepath.Join(c.opts.CacheDir, "files/base"), paths)); d != "" {
			t.Error(d)
		}
		slices.Sort(paths)
		if d := cmp.Diff(paths, c.Cached("base")); d != "" {
			t.Error(d)
		}
	}
	for url, want := range map[string]string{"salt://dir/a.txt": "files/base/dir/a.txt",
		"salt://|dir/what?x": "|files/base/dir/what?x", "salt://dir": "files/base/dir",
		"salt://no": "", "salt://dir/a.txt?saltenv=dev": "", "salt://../base/dir/a.txt": ""} {
		if got := strings.Replace(c.IsCached(url, "base"), c.opts.CacheDir+"/", "", 1); got != want {
			t.Errorf("IsCached(%s) = %q, want %q", url, got, want)
		}
	}
	states, err := c.States(t.Context(), "base")
	if d := cmp.Diff([]string{"st", "st.more", "top"}, states); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestState(t *testing.T) {
	c := tree(t).client(t)
	for sls, want := range map[string]string{"st": "salt://st/init.sls",
		"st.more": "salt://st/more.sls", "top": "salt://top.sls"} {
		url, file, err := c.State(t.Context(), sls, "base")
		if err != nil || url != want || read(t, file) != "{}" {
			t.Errorf("State(%s) = %q, %q, %v", sls, url, file, err)
		}
	}
	if _, _, err := c.State(t.Context(), "none", "base"); !errors.Is(err, ErrNotFound) {
		t.Errorf("State(none) = %v", err)
	}
}

func TestCacheFilesKeepsTheOrder(t *testing.T) {
	m := tree(t)
	m.hold = func(load *data.Map) {
		if load.Text("path") == "dir/a.txt" {
			for range 1000 { // the first is the slowest
				m.mu.Lock()
				served := len(m.asked)
				m.mu.Unlock()
				if served > 8 {
					return
				}
			}
		}
	}
	c := m.client(t)
	paths, err := c.CacheFiles(t.Context(),
		[]string{"salt://dir/a.txt", "salt://none", "salt://e?saltenv=dev", "salt://top.sls"}, "base")
	if err != nil || len(paths) != 4 || paths[1] != "" {
		t.Fatalf("CacheFiles = %q, %v", paths, err)
	}
	for i, want := range map[int]string{0: "a", 2: "e", 3: "{}"} {
		if read(t, paths[i]) != want {
			t.Errorf("file %d holds %q", i, read(t, paths[i]))
		}
	}
}

func TestGetDirTwice(t *testing.T) {
	m := tree(t)
	c, dest := m.client(t), t.TempDir()
	for i := range 2 {
		paths, err := c.GetDir(t.Context(), "salt://dir/", dest, Get{Gzip: 3})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"dir/a.txt", "dir/empty/deep", "dir/sub/b.py", "dir/sub/c.so",
			"dir/what?x"}, under(t, dest, paths)); d != "" {
			t.Error(d)
		}
		if n := m.count("_serve_file"); i == 1 && n != 0 {
			t.Errorf("%d pieces were asked for again", n)
		}
	}
	if read(t, dest+"/dir/sub/c.so") != long(2500) || !paths.Exists(dest+"/dir/empty/deep") {
		t.Error("the folder is another")
	}
	paths, err := c.GetDir(t.Context(), "salt://dir/sub", dest, Get{})
	if d := cmp.Diff([]string{"sub/b.py", "sub/c.so"}, under(t, dest, paths)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestNamesOfAFileServerStayInside lists files whose names lead out of the fetched directory.
func TestNamesOfAFileServerStayInside(t *testing.T) {
	for _, name := range []string{"dir/../../evil", "dir//../../evil", "dir/./x", "dir/..",
		"dir/sub/../../../evil"} {
		m := newMaster(map[string]string{"base/" + name: "evil", "base/dir/good": "good"})
		m.empty = []string{name}
		c, dest := m.client(t), filepath.Join(t.TempDir(), "dest")
		if err := os.Mkdir(dest, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetDir(t.Context(), "salt://dir", dest, Get{}); !errors.Is(err, ErrPath) {
			t.Errorf("GetDir with %q = %v", name, err)
		}
		if entries, _ := os.ReadDir(filepath.Dir(dest)); len(entries) != 1 {
			t.Errorf("%q is beside the destination", name)
		}
		_, err := c.CacheDir(t.Context(), "salt://dir", "base", Choice{Empty: true})
		if name != "dir/./x" && err == nil && strings.Contains(strings.Join(c.Cached("base"), " "), "evil") {
			t.Errorf("CacheDir with %q cached it", name)
		}
		if paths.Exists(filepath.Join(c.opts.CacheDir, "evil")) ||
			paths.Exists(filepath.Join(c.opts.CacheDir, "files", "evil")) {
			t.Errorf("CacheDir wrote %q outside of the environment", name)
		}
	}
}

func TestOneFailureEndsMany(t *testing.T) {
	m := tree(t)
	m.before = func(load *data.Map) (any, error) {
		if load.Text("path") == "dir/sub/b.py" {
			return nil, errLost
		}
		return nil, nil
	}
	if paths, err := m.client(t).CacheMaster(t.Context(), "base"); !errors.Is(err, errLost) {
		t.Errorf("= %v, %v", paths, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree(t).client(t).CacheMaster(ctx, "base"); !errors.Is(err, context.Canceled) {
		t.Errorf("= %v", err)
	}
}

func TestHashAndMode(t *testing.T) {
	c := tree(t).client(t)
	sum, err := c.Hash(t.Context(), "salt://e?saltenv=dev", "base")
	if err != nil || sum.Type != "sha256" ||
		sum.Hex != "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea" {
		t.Errorf("Hash = %v, %v", sum, err)
	}
	file := filepath.Join(t.TempDir(), "e")
	if err := errors.Join(os.WriteFile(file, []byte("e"), 0o600),
		os.Chmod(file, 0o751|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	for hash, want := range map[string]string{"md5": "e1671797c52e15f763380b45e841ec32",
		"sha1":   "58e6b3a414a1e090dfc6029add0f3555ccba127f",
		"sha256": "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea"} {
		c.opts.HashType = hash
		if own, err := c.Hash(t.Context(), file, "base"); err != nil || own != (Sum{hash, want}) {
			t.Errorf("Hash by %s = %v, %v", hash, own, err)
		}
	}
	if mode, err := c.Mode(t.Context(), "salt://top.sls", "base"); err != nil || mode != 0o100640 {
		t.Errorf("Mode = %o, %v", mode, err)
	}
	if mode, err := c.Mode(t.Context(), file, "base"); err != nil || mode != 0o101751 {
		t.Errorf("Mode = %o, %v", mode, err)
	}
	for _, url := range []string{"salt://none", file + "no", filepath.Dir(file)} {
		if _, err := c.Hash(t.Context(), url, "base"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Hash(%s) = %v", url, err)
		}
		if _, err := c.Mode(t.Context(), url, "base"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Mode(%s) = %v", url, err)
		}
	}
}

func TestCacheLocalTwice(t *testing.T) {
	c := New(Options{CacheDir: t.TempDir()})
	file := filepath.Join(t.TempDir(), "own")
	for _, body := range []string{"one", "one", "two"} {
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := c.CacheLocal(file)
		if err != nil || got != filepath.Join(c.opts.CacheDir, "localfiles", file) || read(t, got) != body {
			t.Errorf("CacheLocal = %q, %v", got, err)
		}
		if c.IsCached(file, "base") != got {
			t.Errorf("IsCached = %q", c.IsCached(file, "base"))
		}
	}
}

func TestPush(t *testing.T) {
	for _, size := range []int{0, 5, 1000, 2500} {
		var got []byte
		var locs []int64
		request := func(_ context.Context, load *data.Map) (any, error) {
			want := data.NewMap("cmd", "_file_recv", "path", []any{"a", "b"}, "size", int64(size),
				"loc", load.Value("loc"), "data", load.Value("data"))
			if !data.Equal(load, want) {
				t.Errorf("request %s, want %s", data.Repr(load), data.Repr(want))
			}
			locs = append(locs, load.Value("loc").(int64))
			got = append(got, load.Value("data").([]byte)...)
			return true, nil
		}
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(long(size)), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := Push(t.Context(), request, file, []string{"a", "b"}, 1000); !ok || err != nil {
			t.Errorf("Push of %d bytes = %v, %v", size, ok, err)
		}
		if string(got) != long(size) || !slices.IsSorted(locs) || len(locs) != max(1, (size+999)/1000) {
			t.Errorf("of %d bytes there came %d, at %v", size, len(got), locs)
		}
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, reply := range []any{false, data.NewMap(), nil, ""} {
		refuse := func(context.Context, *data.Map) (any, error) { return reply, nil }
		if ok, err := Push(t.Context(), refuse, file, []string{"f"}, 0); ok || err != nil {
			t.Errorf("Push that is answered with %v = %v, %v", reply, ok, err)
		}
	}
	lost := func(context.Context, *data.Map) (any, error) { return nil, errLost }
	if ok, err := Push(t.Context(), lost, file, []string{"f"}, 0); ok || !errors.Is(err, errLost) {
		t.Errorf("Push = %v, %v", ok, err)
	}
}
