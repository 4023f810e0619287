package master

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

// put writes files, by path below dir.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755),
			os.WriteFile(full, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// files asks for something of files and returns the reply as it comes out of the wire.
func (b *bench) files(t testing.TB, id string, load *data.Map) any {
	t.Helper()
	if b.socket != nil {
		load = load.Clone()
		load.Set("id", id)
		return b.sealed(t, id, load)
	}
	raw, err := payload.Marshal(load)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	name := load.Text("cmd")
	reply, err := b.requests.Encrypted(t.Context(),
		&channel.Command{Name: name, Load: fields, Version: 3, Caller: channel.Caller{ID: id, Proved: true}})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if raw, err = payload.Marshal(reply); err != nil {
		t.Fatal(err)
	}
	v, err := payload.Unmarshal(raw, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bytesOf returns a text or bytes.
func bytesOf(v any) []byte {
	if b, ok := v.([]byte); ok {
		return b
	}
	s, _ := v.(string)
	return []byte(s)
}

func unzip(t testing.TB, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var fileRequests = []string{"_file_envs", "_file_list", "_file_list_emptydirs", "_dir_list",
	"_symlink_list", "_file_find", "_file_hash", "_file_hash_and_stat",
	"_serve_file", "_master_opts", "_file_recv"}

// capturedFiles writes the files that the captured requests are about.
func capturedFiles(t *testing.T, f *vectors.File, dir string) {
	t.Helper()
	content := map[string]string{"base/hello.txt": "hello file\n", "base/empty.txt": "",
		"base/top.sls": "", "dev/dev.txt": ""}
	for _, section := range []string{"requests", "during_jobs"} {
		for _, c := range f.Section(section) {
			if c.Name == "state with pillar" || c.Name == "file get" {
				continue
			}
			for _, e := range c.Sub("exchanges") {
				load, _ := e.Map.Value("request_load").(*data.Map)
				reply, _ := e.Map.Value("reply").(*data.Map)
				if load.Text("cmd") != "_serve_file" || reply.Text("dest") == "" {
					continue
				}
				piece := bytesOf(reply.Value("data"))
				if reply.Has("gzip") {
					piece = unzip(t, piece)
				}
				if name := "base/" + load.Text("path"); load.Value("loc") == int64(len(content[name])) {
					content[name] += string(piece)
				}
			}
		}
	}
	content["base/sub/exact.bin"] = content["base/sub/exact.bin"][:8192]
	put(t, dir, content)
	if err := os.Mkdir(filepath.Join(dir, "base", "_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestVectorFiles sends the captured requests for files, and expects the captured replies.
func TestVectorFiles(t *testing.T) {
	f := vectors.Load(t, "05-request.json")
	dir := t.TempDir()
	capturedFiles(t, f, dir)
	b := newBench(t, func(c *config.Master) {
		c.FileRoots = data.NewMap("base", []any{filepath.Join(dir, "base")},
			"dev", []any{filepath.Join(dir, "dev")})
		c.FileBufferSize = 4096
		c.Nodegroups = f.Section("requests")[0].Sub("exchanges")[0].Map.Value("reply").(*data.Map).Value("nodegroups").(*data.Map)
	}, "web1")
	seen := 0
	for _, section := range []string{"requests", "during_jobs", "older_forms"} {
		for _, c := range f.Section(section) {
			exchanges := []*vectors.Case{c}
			if c.Has("exchanges") {
				exchanges = c.Sub("exchanges")
			}
			for i, e := range exchanges {
				load, ok := e.Map.Value("request_load").(*data.Map)
				if !ok || !isFileRequest(load.Text("cmd")) || e.Map.Value("reply") == nil {
					continue
				}
				seen++
				t.Run(fmt.Sprintf("%s/%d", c.Name, i),
					func(t *testing.T) { b.sameFiles(t, load, e.Map.Value("reply")) })
			}
		}
	}
	if seen < 50 {
		t.Errorf("found %d requests", seen)
	}
}

func isFileRequest(name string) bool {
	for _, f := range fileRequests {
		if f == name {
			return true
		}
	}
	return false
}

func (b *bench) sameFiles(t *testing.T, load *data.Map, want any) {
	got := b.files(t, "web1", load)
	wantMap, ok := want.(*data.Map)
	gotMap, ok2 := got.(*data.Map)
	if !ok || !ok2 {
		if !data.Equal(got, want) {
			t.Errorf("%s: reply %s, want %s", data.Repr(load), data.Repr(got), data.Repr(want))
		}
		return
	}
	wantMap, gotMap = wantMap.Clone(), gotMap.Clone()
	switch load.Text("cmd") {
	case "_file_find": // of another host and time
		stat, _ := gotMap.Value("stat").([]any)
		wantStat, _ := wantMap.Value("stat").([]any)
		if len(stat) != len(wantStat) || len(stat) > 0 && (stat[0] != wantStat[0] || stat[6] != wantStat[6]) {
			t.Errorf("stat %v, want %v", stat, wantStat)
		}
		if wantMap.Text("path") != "" && !strings.HasSuffix(gotMap.Text("path"), "/base/hello.txt") {
			t.Errorf("path %q", gotMap.Text("path"))
		}
		for _, m := range []*data.Map{wantMap, gotMap} {
			m.Set("stat", nil)
			m.Set("path", "")
		}
	case "_serve_file":
		if wantMap.Has("gzip") {
			gotMap.Set("data", unzip(t, bytesOf(gotMap.Value("data"))))
			wantMap.Set("data", unzip(t, bytesOf(wantMap.Value("data"))))
		}
	case "_master_opts":
		gotMap.Delete("job_acks") // Brine's own
		gotMap.Delete("max_pending_keys_per_address")
	}
	if !data.Equal(gotMap, wantMap) {
		t.Errorf("%s: reply %.300s, want %.300s", data.Repr(load), data.Repr(gotMap), data.Repr(wantMap))
	}
}

// TestCVE2024_22232 requests paths outside of file_roots, in every form, with every command: the
// replies reveal nothing.
func TestCVE2024_22232(t *testing.T) {
	const secret = "SECRET-5f2b"
	sum := sha256.Sum256([]byte(secret))
	for _, follow := range []bool{true, false} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"srv/base/a.txt": "open", "srv/base/sub/b.txt": "open",
			"srv/base2/s.txt": secret, "srv/s.txt": secret, "srv/env/dev/d.txt": "open",
			"srv/env/.git/s.txt": secret, "s.txt": secret, "srv/base/c?d.txt": "open"})
		secretFile := filepath.Join(dir, "s.txt")
		if err := syscall.Mkfifo(filepath.Join(dir, "srv", "base", "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		link(t, "/dev/zero", filepath.Join(dir, "srv", "base", "zero"))
		link(t, filepath.Join(dir, "srv", "base", "pipe"), filepath.Join(dir, "srv", "base", "topipe"))
		if !follow {
			link(t, secretFile, filepath.Join(dir, "srv", "base", "out"))
			link(t, "../s.txt", filepath.Join(dir, "srv", "base", "up"))
			link(t, "..", filepath.Join(dir, "srv", "base", "updir"))
		}
		b := newBench(t, func(c *config.Master) {
			c.FileRoots = data.NewMap("base", []any{filepath.Join(dir, "srv", "base")},
				"__env__", []any{filepath.Join(dir, "srv", "env", "__env__")})
			c.Map() // as loaded
		}, "web1")
		b.listen(t)
		opts := b.cfg.Map()
		opts.Set("fileserver_followsymlinks", follow)
		b.parts.settings.p.Store(&snapshot{b.cfg, opts})
		o, err := b.parts.files.options(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.parts.files.SetOptions(o); err != nil {
			t.Fatal(err)
		}
		paths := []string{"../s.txt", "../base2/s.txt", "..", ".", "", "/", secretFile,
			"//" + secretFile, "sub/../../s.txt", "./../s.txt", "sub/..", "a.txt/../../s.txt",
			"|../s.txt", "|" + secretFile, "||../s.txt", "|/../s.txt", "s.txt?saltenv=..",
			"s.txt?saltenv=../..", "s.txt?saltenv=.git", "../s.txt?saltenv=base",
			"s.txt?index=5", "../s.txt?index=0", "s.txt?index=-9", "s.txt?index=x", "..\\s.txt",
			"sub\\..\\..\\s.txt", "s.txt\x00", "../s.txt\x00.txt", "a.txt/", "pipe", "zero",
			"topipe", "out", "up", "updir/s.txt", "updir/base2/s.txt",
			strings.Repeat("../", 40) + strings.TrimPrefix(secretFile, "/"),
			strings.Repeat("a/", 3000), "%2e%2e/s.txt", "\xff../s.txt", "salt://../s.txt",
			"file://" + secretFile}
		envs := []any{"base", "..", "../..", ".git", ".", "", "/", dir, "dev/..", "dev/../..",
			"base\x00", nil, int64(5), []any{".."}, data.NewMap("a", ".."), "__env__", "\xff",
			strings.Repeat("e", 5000)}
		for _, p := range paths {
			for _, env := range envs {
				for _, cmd := range fileRequests[:9] {
					load := data.NewMap("cmd", cmd, "path", p, "saltenv", env, "loc", int64(0), "prefix", p)
					reply := data.Repr(b.files(t, "web1", load))
					if strings.Contains(reply, secret) ||
						strings.Contains(reply, hex.EncodeToString(sum[:])) {
						t.Errorf("follow %v: %s is answered with %.200s", follow, data.Repr(load), reply)
					}
					if found := map[string]string{"_file_find": `'path': ''`, "_file_hash": `''`,
						"_serve_file": `'dest': ''`, "_file_hash_and_stat": `['', None]`}[cmd]; found != "" &&
						!strings.Contains(reply, found) && reply != "''" && p != "a.txt/" {
						t.Errorf("follow %v: %s finds %.200s", follow, data.Repr(load), reply)
					}
					if (cmd == "_file_list" || cmd == "_dir_list") &&
						(strings.Contains(reply, "s.txt") || strings.Contains(reply, "base2") ||
							strings.Contains(reply, "pipe'") && cmd == "_file_list") {
						t.Errorf("follow %v: %s lists %.200s", follow, data.Repr(load), reply)
					}
				}
			}
		}
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// TestCVE2024_38824 pushes files to every place but their own.
func TestCVE2024_38824(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.FileRecv, c.FileRecvMaxSize = true, 1 }, "web1", "db1")
	b.listen(t)
	own := filepath.Join(b.cfg.CacheDir, "minions", "web1", "files")
	push := func(id string, path any, loc any, content any) any {
		return b.files(t, id, data.NewMap("cmd", "_file_recv", "id", "db1", "path", path,
			"loc", loc, "data", content, "size", int64(3)))
	}
	if got := push("web1", []any{"etc", "motd"}, int64(0), "abc"); got != true {
		t.Fatalf("reply %v", got)
	}
	if got, err := os.ReadFile(filepath.Join(own, "etc", "motd")); err != nil || string(got) != "abc" {
		t.Fatalf("%q, %v", got, err)
	}
	put(t, b.cfg.CacheDir, map[string]string{"victim/x": "mine"})
	link(t, filepath.Join(b.cfg.CacheDir, "victim"), filepath.Join(own, "away"))
	link(t, filepath.Join(b.cfg.CacheDir, "victim", "x"), filepath.Join(own, "file"))
	link(t, "etc", filepath.Join(own, "near"))
	if err := syscall.Mkfifo(filepath.Join(own, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := whole(t, filepath.Dir(b.cfg.CacheDir))
	deep := make([]any, 65)
	for i := range deep {
		deep[i] = "d"
	}
	for _, path := range []any{[]any{"..", "x"}, []any{"a", "..", "..", "x"}, []any{"a/../../x"},
		[]any{"../x"}, []any{"/etc/x"}, []any{"", "etc", "x"}, []any{"."}, []any{".."}, []any{},
		"etc/x", nil, []any{"x\x00y"}, []any{int64(1)}, []any{[]byte("\xff\xfe")}, []any{"away",
			"x"}, []any{"file"}, []any{"near", "motd"}, []any{"pipe"}, []any{"etc"}, []any{"etc",
			"motd", "x"},
		[]any{strings.Repeat("x", 256)}, deep, data.NewMap("a", "b"), []any{nil, "x"}} {
		if got := push("web1", path, int64(0), "evil"); got != false {
			t.Errorf("push of %s: reply %s", data.Repr(path), data.Repr(got))
		}
	}
	for _, loc := range []any{int64(-1), int64(4), int64(1 << 20), int64(1<<63 - 1), nil, "0", 1.5} {
		if got := push("web1", []any{"etc", "motd"}, loc, "evil"); got != false {
			t.Errorf("push at %s: reply %s", data.Repr(loc), data.Repr(got))
		}
	}
	if got := push("web1", []any{"big"}, int64(0), strings.Repeat("x", 1<<20+1)); got != false {
		t.Errorf("push of too much: reply %v", got)
	}
	if after := whole(t, filepath.Dir(b.cfg.CacheDir)); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
}

// whole describes everything below a directory.
func whole(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && !strings.Contains(p, "presence") && !strings.Contains(p, "jobs") {
			fmt.Fprintln(&all, p, info.Mode(), lengthOf(info))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func lengthOf(info os.FileInfo) int64 {
	if info.IsDir() {
		return 0
	}
	return info.Size()
}

func TestPush(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.FileRecv, c.FileRecvMaxSize = true, 1 }, "web1")
	file := filepath.Join(b.cfg.CacheDir, "minions", "web1", "files", "var", "log", "x")
	piece := func(loc int, content string) any {
		return b.files(t, "web1", data.NewMap("cmd", "_file_recv", "path", []any{"var", "log", "x"},
			"loc", int64(loc), "data", content))
	}
	half := strings.Repeat("x", 1<<19)
	for _, tt := range []struct {
		name string
		loc  int
		data string
		want any
		size int64
	}{
		{"the second piece first", 3, "abc", false, -1},
		{"the first piece", 0, half, true, 1 << 19},
		{"the second one", 1 << 19, half, true, 1 << 20},
		{"the second one again", 1 << 19, half, true, 1 << 20},
		{"one byte too many", 1 << 20, "x", false, 1 << 20},
		{"an empty one at the end", 1 << 20, "", true, 1 << 20},
		{"a gap", 1<<20 + 1, "", false, 1 << 20},
		{"another file in its place", 0, "new", true, 3},
	} {
		got := piece(tt.loc, tt.data)
		info, err := os.Stat(file)
		if size := int64(-1); got != tt.want || err == nil && info.Size() != tt.size ||
			err != nil && tt.size != size {
			t.Errorf("%s: reply %v, %v, %v", tt.name, got, info, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	b.cfg.FileRecv = false
	if got := piece(0, "abc"); got != false {
		t.Errorf("without file_recv: reply %v", got)
	}
}

func TestFilesNeedNoProofButPushing(t *testing.T) {
	b := newBench(t, nil, "web1")
	for _, name := range fileRequests {
		if got := b.requests.NeedsProof(name); got != (name == "_file_recv") {
			t.Errorf("%s: needs proof = %v", name, got)
		}
		if got := b.requests.Effect(name); got != (name == "_file_recv") {
			t.Errorf("%s: has effect = %v", name, got)
		}
	}
}

func TestFileServerFollowsTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a/x": "one", "b/x": "two"})
	b := newBench(t, func(c *config.Master) { c.FileRoots = data.NewMap("base", []any{filepath.Join(dir, "a")}) }, "web1")
	get := func() string {
		reply, _ := b.files(t, "web1", data.NewMap("cmd", "_serve_file", "path", "x", "saltenv",
			"base", "loc", int64(0))).(*data.Map)
		return string(bytesOf(reply.Value("data")))
	}
	if got := get(); got != "one" {
		t.Errorf("got %q", got)
	}
	next := config.DefaultMaster()
	next.FileRoots, next.HashType = data.NewMap("base", []any{filepath.Join(dir, "b")}, "dev", []any{}), "md5"
	renewed, change := b.cfg.Renew(next)
	b.Renew(renewed)
	if got := get(); got != "two" {
		t.Errorf("got %q after a reload that applied %v", got, change.Applied)
	}
	hash := b.files(t, "web1", data.NewMap("cmd", "_file_hash", "path", "x", "saltenv", "base"))
	envs := b.files(t, "web1", data.NewMap("cmd", "_file_envs"))
	if want := "{'hash_type': 'md5', 'hsum': 'b8a9f715dbb64fd5c56e7783c6820a61'}['base', 'dev']"; data.Repr(hash)+data.Repr(envs) != want {
		t.Errorf("hash and environments %s%s, want %s", data.Repr(hash), data.Repr(envs), want)
	}
}

// distant is a backend whose one source is updated as often as an option says.
type distant struct {
	fileserver.Backend
	every time.Duration
}

func (d *distant) Name() string                        { return "gitfs" }
func (d *distant) Intervals() map[string]time.Duration { return map[string]time.Duration{"x": d.every} }
func (d *distant) UpdateRemotes(context.Context, []string) (fileserver.Change, error) {
	return fileserver.Change{}, nil
}

func TestARemoteWithAnotherIntervalHasNoOldTask(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.parts.files.makers = fileserver.Makers{"gitfs": func(opts *data.Map, _ logrus.FieldLogger) (fileserver.Backend, error) {
		n, _ := opts.Value("gitfs_update_interval").(int64)
		return &distant{every: time.Duration(n) * time.Second}, nil
	}}
	for _, every := range []int64{600, 700} {
		opts := b.cfg.Map()
		opts.Set("fileserver_backend", []any{"gitfs"})
		opts.Set("gitfs_update_interval", every)
		b.parts.settings.p.Store(&snapshot{b.cfg, opts})
		b.renewFiles(config.DefaultMaster())
	}
	_, body, err := b.schedule.Manage(t.Context(), data.NewMap("func", "list", "where", "opts"))
	text := data.Repr(body)
	if err != nil || strings.Contains(text, "gitfs_10m0s") || !strings.Contains(text, "gitfs_11m40s") {
		t.Errorf("tasks: %s, %v", text, err)
	}
}

func TestUpdatesAreAnnounced(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"x": "one"})
	b := newBench(t, func(c *config.Master) { c.FileRoots = data.NewMap("base", []any{dir}) }, "web1")
	opts := b.cfg.Map()
	opts.Set("fileserver_events", true)
	b.parts.settings.p.Store(&snapshot{b.cfg, opts})
	o, err := b.parts.files.options(t.Context())
	if err != nil || b.parts.files.SetOptions(o) != nil {
		t.Fatal(err)
	}
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
		Prefixes: []string{"salt/fileserver", "end"}})
	defer s.Close()
	for _, task := range b.parts.files.tasks() {
		if err := task.Do(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := b.bus.Fire("end", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	for e := range s.All(t.Context()) {
		v, err := payload.UnmarshalText(e.Data, payload.WireLimits())
		m, _ := v.(*data.Map)
		files, _ := m.Value("files").(*data.Map)
		if err != nil || e.Tag != "salt/fileserver/roots/update" || m.Value("changed") != true ||
			m.Text("backend") != "roots" ||
			data.Repr(files.Value("added")) != "['"+filepath.Join(dir, "x")+"']" {
			t.Errorf("event %s %s, %v", e.Tag, data.Repr(v), err)
		}
		break
	}
}

func TestNoBackendsIsAnErrorAtTheStart(t *testing.T) {
	b := newBench(t, nil)
	for _, tt := range []struct {
		backends []any
		want     string
	}{
		{[]any{}, "No fileserver backends are configured"},
		{[]any{"nosuch", "s3fs"}, "Failed to load fileserver backends, the configured backends are: nosuch, s3fs"},
		// no file_recv
		{[]any{"minionfs"}, "Failed to load fileserver backends, the configured backends are: minionfs"},
		{[]any{"nosuch", "roots"}, ""},
	} {
		opts := b.cfg.Map()
		opts.Set("fileserver_backend", tt.backends)
		b.parts.settings.p.Store(&snapshot{b.cfg, opts})
		_, err := b.parts.files.options(t.Context())
		if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
			t.Errorf("%v: error %q, want %q", tt.backends, got, tt.want)
		}
	}
}

// TestHangingFileSystem has calls that never return: others go on, and those who wait get an error.
func TestHangingFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStallGuard()
		hang := make(chan struct{})
		began := time.Now()
		if _, err := p.do(t.Context(), defaultLimit,
			func(context.Context) (any, error) { <-hang; return nil, nil }); !errors.Is(err,
			errStuck) || time.Since(began) != defaultLimit {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		began = time.Now()
		if _, err := p.do(t.Context(), defaultLimit,
			func(context.Context) (any, error) { <-hang; return nil, nil }); !errors.Is(err,
			errStuck) || time.Since(began) != stalledLimit {
			t.Errorf("the second one after %s: %v", time.Since(began), err)
		}
		if got, err := p.do(t.Context(), defaultLimit,
			func(context.Context) (any, error) { return 1, nil }); got != 1 || err != nil {
			t.Errorf("another one: %v, %v", got, err)
		}
		for range maxStuck {
			_, _ = p.do(t.Context(), defaultLimit,
				func(context.Context) (any, error) { <-hang; return nil, nil })
		}
		if n := p.stuck.Load(); n != maxStuck {
			t.Errorf("%d calls hang", n)
		}
		close(hang)
		synctest.Wait()
		if n := p.stuck.Load(); n != 0 {
			t.Errorf("%d calls hang at the end", n)
		}
		if _, err := p.do(t.Context(), defaultLimit,
			func(context.Context) (any, error) { panic("x") }); err == nil {
			t.Error("a panic is no error")
		}
	})
}

func FuzzFileRequests(f *testing.F) {
	b := newBench(f, func(c *config.Master) { c.FileRecv, c.FileRecvMaxSize = true, 1 }, "web1")
	for _, load := range []*data.Map{
		data.NewMap("path", "a", "saltenv", "base", "loc", int64(0), "gzip", int64(5)),
		data.NewMap("path", []any{"a", "b"}, "loc", int64(0), "data", "x", "prefix", "a",
			"saltenv", nil, "fsbackend", "-roots"),
	} {
		raw, _ := payload.Marshal(load)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		fields, err := payload.ParseFields(raw, payload.WireLimits())
		if err != nil {
			return
		}
		for _, name := range fileRequests {
			reply, err := b.requests.Encrypted(t.Context(),
				&channel.Command{Name: name, Load: fields, Version: 3,
					Caller: channel.Caller{ID: "web1", Proved: true}})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := payload.Marshal(reply); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
