package mirror

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"github.com/brineproject/brine/internal/test/need"
)

// needGit returns the git program.
func needGit(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	need.That(t, "program git", err)
	return git
}

// A source is a repository that tests write to.
type source struct {
	t   *testing.T
	dir string
}

func newSource(t *testing.T) *source {
	needGit(t)
	s := &source{t, filepath.Join(t.TempDir(), "source")}
	s.git("init", "--quiet", "-b", "master", s.dir)
	return s
}

func (s *source) git(args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	if len(args) > 0 && args[0] != "init" {
		cmd.Dir = s.dir
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (s *source) commit(files map[string]string) {
	s.t.Helper()
	for name, content := range files {
		p := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("add", "-A")
	s.git("commit", "--quiet", "--allow-empty", "-m", "c")
}

func specs() []string {
	return []string{"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"}
}

func open(t *testing.T, o Options) *Mirror {
	t.Helper()
	if o.Root == "" {
		o.Root = filepath.Join(t.TempDir(), "gitfs")
	}
	o.Refspecs = specs()
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func update(t *testing.T, m *Mirror, want bool) {
	t.Helper()
	changed, err := m.Update(t.Context())
	if err != nil || changed != want {
		t.Fatalf("Update = %v, %v; want %v", changed, err, want)
	}
}

// content returns the content of a file at the top of a tree.
func content(t *testing.T, m *Mirror, tree Hash, name string) string {
	t.Helper()
	entries, err := m.Tree(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name == name {
			text, err := m.Blob(e.Hash, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	t.Fatalf("there is no %s in %s", name, tree)
	return ""
}

func refs(t *testing.T, m *Mirror) Refs {
	t.Helper()
	r, err := m.Refs()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestUpdatesFollowBranchesAndTags(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "one"})
	s.git("tag", "light")
	s.git("tag", "-a", "-m", "t", "heavy")
	s.git("branch", "team/dev")
	m := open(t, Options{URL: "file://" + s.dir})
	if r := refs(t, m); len(r.Branches)+len(r.Tags) != 0 {
		t.Fatalf("refs before the first update: %v", r)
	}
	update(t, m, true)
	update(t, m, false)
	r := refs(t, m)
	for name, tree := range map[string]Hash{"master": r.Branches["master"],
		"dev": r.Branches["team/dev"], "light": r.Tags["light"], "heavy": r.Tags["heavy"]} {
		if got := content(t, m, tree, "a"); got != "one" {
			t.Errorf("a in %s = %q", name, got)
		}
	}
	other := open(t, Options{URL: "file://" + s.dir, Root: m.o.Root}) // like another process
	s.commit(map[string]string{"a": "two"})
	s.git("branch", "-D", "team/dev")
	s.git("tag", "-d", "light")
	update(t, other, true)
	r = refs(t, m)
	if got := content(t, m, r.Branches["master"], "a"); got != "two" {
		t.Errorf("after an update by another process a = %q", got)
	}
	if len(r.Branches) != 1 || len(r.Tags) != 1 {
		t.Errorf("what is gone stays: %v", r)
	}
}

// TestManyPacksBecomeOne updates an open mirror until git merges its packs into one.
func TestManyPacksBecomeOne(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "0"})
	m := open(t, Options{URL: s.dir})
	update(t, m, true)
	first := refs(t, m).Branches["master"]
	packs := func() []string {
		p, _ := filepath.Glob(filepath.Join(m.gitDir(), "objects/pack/*.pack"))
		return p
	}
	m.packs = 3
	for i := range m.packs {
		if n := len(packs()); n != i+1 {
			t.Fatalf("%d packs after %d updates", n, i+1)
		}
		s.commit(map[string]string{"a": fmt.Sprint(i + 1)})
		if content(t, m, first, "a") != "0" { // all are open
			t.Fatal("content")
		}
		update(t, m, true)
	}
	if n := len(packs()); n != 1 {
		t.Errorf("%d packs are left", n)
	}
	if got := content(t, m, first, "a"); got != "0" {
		t.Errorf("old tree: %q", got)
	}
	if got := content(t, m, refs(t, m).Branches["master"], "a"); got != "3" {
		t.Errorf("new tree: %q", got)
	}
}

// TestAKilledUpdateLeavesNoLock recreates what git leaves behind when it is killed.
func TestAKilledUpdateLeavesNoLock(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "one"})
	m := open(t, Options{URL: s.dir})
	update(t, m, true)
	for _, left := range []string{"packed-refs.lock", "refs/remotes/origin/master.lock",
		"shallow.lock", "objects/pack/tmp_pack_x"} {
		if err := os.WriteFile(filepath.Join(m.gitDir(), left), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.commit(map[string]string{"a": "two"})
	update(t, m, true)
	if _, err := os.Stat(filepath.Join(m.gitDir(), "objects/pack/tmp_pack_x")); err == nil {
		t.Error("half a pack is left")
	}
}

func TestOperatorsLock(t *testing.T) {
	s := newSource(t)
	s.commit(nil)
	m := open(t, Options{URL: s.dir})
	for _, want := range []bool{true, false} {
		if fresh, err := m.Lock(); fresh != want || err != nil {
			t.Fatalf("Lock = %v, %v", fresh, err)
		}
	}
	if _, err := m.Update(t.Context()); !errors.Is(err, ErrLocked) {
		t.Fatalf("Update of a locked mirror: %v", err)
	}
	for _, want := range []bool{true, false} {
		if was, err := m.Unlock(); was != want || err != nil {
			t.Fatalf("Unlock = %v, %v", was, err)
		}
	}
	update(t, m, true)
}

const marker = "marker-4711"

// serve serves a repository over http. If password is not empty, clients need it.
func serve(t *testing.T, s *source, password string) (url string) {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	h := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(s.dir), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}, Stderr: io.Discard}
	_, err = os.Stat(h.Path)
	need.That(t, "git http-backend", err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, p, _ := r.BasicAuth(); p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/source/.git"
}

// record puts a program of this name first in PATH that writes its arguments to a file.
func record(t *testing.T, name, then string) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "arguments")
	if err := os.WriteFile(filepath.Join(dir, name),
		[]byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+file+"\n"+then+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return file
}

func TestHTTPWithPasswords(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "one"})
	arguments := record(t, "git", "exec "+needGit(t)+` "$@"`)
	url := serve(t, s, marker)
	update(t, open(t, Options{URL: url, User: "u", Password: marker, InsecureAuth: true}), true)
	update(t, open(t, Options{URL: strings.Replace(url, "http://", "http://u:"+marker+"@", 1)}), true)
	m := open(t, Options{URL: strings.Replace(url, "http://", "http://u:wrong-"+marker+"@", 1)})
	_, err := m.Update(t.Context())
	if err == nil || strings.Contains(err.Error(), marker) || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("with a wrong password: %v", err)
	}
	if _, err := Open(Options{URL: url, User: "u", Password: marker}); err == nil ||
		strings.Contains(err.Error(), marker) {
		t.Errorf("a password over http: %v", err)
	}
	g, err := m.newGit()
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(arguments)
	if err != nil || !strings.Contains(string(said), "fetch\n") || strings.Contains(string(said), marker) {
		t.Errorf("arguments of git: %s, %v", said, err)
	}
	if strings.Contains(m.URL()+m.addr.remote, marker) || g.hide("x wrong-"+marker) != "x ***" {
		t.Error("the password is shown")
	}
}

// TestSSH replaces ssh by a program that runs the remote command locally.
func TestSSH(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "one"})
	arguments := record(t, "ssh", `for last; do :; done; exec sh -c "$last"`)
	key := filepath.Join(t.TempDir(), "it's a $(key)")
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(marker))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	update(t, open(t, Options{URL: "git@host.example:" + s.dir, PrivKey: key}), true)
	said, _ := os.ReadFile(arguments)
	if !strings.Contains(string(said), "BatchMode=yes\n") ||
		!strings.Contains(string(said), "-i\n"+key+"\n") ||
		!strings.Contains(string(said), "\ngit@host.example\n") {
		t.Errorf("arguments of ssh: %s", said)
	}
	update(t, open(t, Options{URL: "ssh://git@host.example" + s.dir, PrivKey: key, Passphrase: marker}), true)
	said, _ = os.ReadFile(arguments)
	if !strings.Contains(string(said), "IdentityAgent=SSH_AUTH_SOCK\n") ||
		strings.Contains(string(said), marker) {
		t.Errorf("arguments of ssh: %s", said)
	}
	if _, err := open(t, Options{URL: "ssh://git@h/x", PrivKey: key, Passphrase: "wrong-" +
		marker}).Update(t.Context()); err == nil || strings.Contains(err.Error(), marker) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	a, err := newAgent(key, marker)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	c, err := net.Dial("unix", a.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	keys, err := sshagent.NewClient(c).List()
	if err != nil || len(keys) != 1 || keys[0].Type() != "ssh-ed25519" {
		t.Errorf("keys of the agent: %v, %v", keys, err)
	}
}

// TestASilentServerEndsAtTheLimit also checks that the content fetched before is still there.
func TestASilentServerEndsAtTheLimit(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "one"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	defer l.Close()
	for _, scheme := range []string{"http", "git"} {
		m := open(t, Options{URL: scheme + "://" + l.Addr().String() + "/x", Limit: 1500 * time.Millisecond})
		good := open(t, Options{URL: s.dir, Root: m.o.Root})
		update(t, good, true)
		if err := os.CopyFS(m.dir(), os.DirFS(good.dir())); err != nil { // as if it had answered before
			t.Fatal(err)
		}
		_, err = m.Update(t.Context())
		if err == nil || !strings.Contains(err.Error(), l.Addr().String()) ||
			!strings.Contains(err.Error(), "in time") {
			t.Errorf("%s: %v", scheme, err)
		}
		(<-accepted).Close()
		if got := content(t, m, refs(t, m).Branches["master"], "a"); got != "one" {
			t.Errorf("%s: a = %q", scheme, got)
		}
	}
}

func TestHooksAndHelpersNeverRun(t *testing.T) {
	s := newSource(t)
	s.commit(map[string]string{"a": "one",
		".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% hooked\n"})
	trap := filepath.Join(t.TempDir(), "hooked")
	home := t.TempDir()
	script := "#!/bin/sh\ntouch " + trap + "\n"
	hooks := filepath.Join(home, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"reference-transaction", "post-checkout", "post-merge", "pre-auto-gc"} {
		if err := os.WriteFile(filepath.Join(hooks, h), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := "[core]\n\thooksPath = " + hooks + "\n[url \"ext::sh -c touch% " + trap +
		"%\"]\n\tinsteadOf = " + s.dir + "\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.hooksPath="+hooks+"'")
	m := open(t, Options{URL: s.dir})
	update(t, m, true)
	if _, err := os.Stat(trap); err == nil {
		t.Error("a hook ran")
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"https://host/a.git": "https://host/a.git", "https://u:pw@host:8/a": "https://host:8/a",
		"https://token@host/a":    "https://host/a",
		"ssh://git@host:22/a.git": "ssh://git@host:22/a.git",
		"git@host:a/b.git":        "git@host:a/b.git", "host:a": "host:a",
		"file:///srv/a": "file:///srv/a", "/srv/a": "/srv/a", "git://host/a": "git://host/a",
		"HTTPS://host/a": "https://host/a",
	} {
		a, err := parseAddress(in)
		if err != nil || a.show != want || a.remote != want {
			t.Errorf("%s: %+v, %v", in, a, err)
		}
	}
	for _, in := range []string{"", "ext::sh -c id", "ext::sh%20-c%20id", "fd::17",
		"--upload-pack=id", "-x", "a\nb", "/a\x00b", "https://-host/a", "ssh://-oProxyCommand=id/a",
		"ssh://-l@host/a", "-oProxyCommand=id:a", "git@-host:a", "-u@host:a", "git@host:-a",
		"ftp://host/a", "ext://host/a", "https://", "file://host/a", "file:///a\x7f", "a:\n",
		"relative/path", "a b:c", "https://ho st/a", "https://h%2f/a", "ssh://u:pw@host/a",
		"https://h/a#f", strings.Repeat("h", 5000) + ":a"} {
		if a, err := parseAddress(in); err == nil {
			t.Errorf("%q is taken: %+v", in, a)
		} else if strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: the error has the password: %v", in, err)
		}
	}
	for _, spec := range []string{"", "--upload-pack=x", "a b", "a:b", "+refs/heads/*:/etc/x",
		"a:refs/../x", "a\nb"} {
		if checkRefspec(spec) == nil {
			t.Errorf("refspec %q is taken", spec)
		}
	}
}

// TestCVE2023_20898 uses pairs that differ only in where one part ends and the next begins.
func TestCVE2023_20898(t *testing.T) {
	seed := rand.New(rand.NewPCG(1, 2))
	const letters = "a:1/"
	word := func() string {
		b := make([]byte, seed.IntN(4))
		for i := range b {
			b[i] = letters[seed.IntN(len(letters))]
		}
		return string(b)
	}
	draw := func() Options {
		o := Options{URL: word(), Name: word(), User: word(), PrivKey: word()}
		for range seed.IntN(3) {
			o.Refspecs = append(o.Refspecs, word())
		}
		return o
	}
	exact := func(o Options) string {
		return fmt.Sprintf("%q %q %q %q %q", o.URL, o.Name, o.User, o.PrivKey, o.Refspecs)
	}
	for range 1_000_000 {
		a, b := draw(), draw()
		if a.key() == b.key() && exact(a) != exact(b) {
			t.Fatalf("%s and %s share a folder", exact(a), exact(b))
		}
	}
}

// TestLargeBlobsAreNotHeldWhole reads a blob of 100 MiB.
func TestLargeBlobsAreNotHeldWhole(t *testing.T) {
	s := newSource(t)
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	f, err := os.Create(filepath.Join(s.dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for range 100 {
		noise[0]++
		_, _ = io.MultiWriter(f, sum).Write(noise)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.git("config", "core.compression", "0")
	s.commit(nil)
	m := open(t, Options{URL: s.dir})
	update(t, m, true)
	entries, err := m.Tree(refs(t, m).Branches["master"])
	if err != nil {
		t.Fatal(err)
	}
	b := &Blobs{Dir: filepath.Join(m.o.Root, "blobs"), Most: 1}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file, err := b.Open(t.Context(), m, entries[0].Hash)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d MiB were taken for it", n>>20)
	}
	got := sha256.New()
	if _, err := io.Copy(got, file); err != nil || !bytes.Equal(got.Sum(nil), sum.Sum(nil)) {
		t.Errorf("it has other bytes: %v", err)
	}
	small := Hash{}
	if _, err := b.Open(t.Context(), m, small); !errors.Is(err, ErrMissing) {
		t.Errorf("a blob that there is not: %v", err)
	}
	b.bound(1, small)
	if left, _ := os.ReadDir(b.Dir); len(left) != 0 {
		t.Errorf("%d blobs are left, beyond the bound", len(left))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := b.Open(ctx, m, entries[0].Hash); err == nil {
		f.Close()
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x0012345678901234567890"))
	f.Add([]byte("40000 ..\x0012345678901234567890160000 m\x0012345678901234567890"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseTree(b)
		for _, e := range entries {
			if err != nil || e.Name == "" || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") {
				t.Errorf("%q: %+v, %v", b, e, err)
			}
		}
	})
}
