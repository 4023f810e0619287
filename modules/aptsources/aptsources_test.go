package aptsources

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

// A host is a system in a directory. Its programs are those of this machine, except for the ones it
// overrides.
type host struct {
	t         *testing.T
	root      string
	has       map[string]bool                                // programs that cmd.which finds
	programs  map[string]func(args []string) (int64, string) // replace those of this machine
	options   map[string]any
	files     map[string]string // results of cp.cache_file by URL
	urls      map[string]string
	ran       []string
	refreshed int
	grains    *data.Map
	registry  *loader.Registry
}

type cmdArgs struct {
	Cmd    []string
	Kwargs *data.Map `kwargs:"kwargs"`
}

type oneArgs struct {
	Name  any
	Other any `default:"None"`
}

func newHost(t *testing.T, files map[string]string) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir(), has: map[string]bool{},
		programs: map[string]func([]string) (int64, string){},
		options:  map[string]any{}, files: map[string]string{}, urls: map[string]string{},
		grains: data.NewMap("os_family", "Debian", "os", "Debian", "oscodename", "bookworm",
			"osrelease", "12")}
	for _, dir := range []string{"/etc/apt/sources.list.d", "/etc/apt/keyrings"} {
		must(t, os.MkdirAll(filepath.Join(h.root, dir), 0o755))
	}
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(h.root, name), []byte(text), 0o644))
	}
	env := &loader.Env{Root: h.root, Grains: func() *data.Map { return h.grains }}
	r, err := loader.NewRegistry(env, []loader.Plugin{
		plugin("cmd", loader.F("run_all", h.run),
			loader.F("which", func(_ context.Context, a oneArgs) (any, error) {
				if h.has[data.Str(a.Name)] {
					return "/usr/bin/" + data.Str(a.Name), nil
				}
				return nil, nil
			})),
		plugin("config", loader.F("option",
			func(_ context.Context, a oneArgs) (any, error) { return h.options[data.Str(a.Name)], nil })),
		plugin("cp", loader.F("cache_file",
			func(_ context.Context, a oneArgs) (any, error) { return h.files[data.Str(a.Name)], nil }),
			loader.F("get_url", func(_ context.Context, a oneArgs) (any, error) {
				if text, ok := h.urls[data.Str(a.Name)]; ok {
					return text, nil
				}
				return nil, errors.New("HTTP 404")
			})),
		Plugin(),
		{Name: "pkg", File: "refresh", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("refresh_db",
				func(context.Context, loader.NoArgs) (any, error) {
					h.refreshed++
					return data.NewMap(), nil
				})}}, nil
		}},
	})
	must(t, err)
	h.registry = r
	return h
}

func plugin(name string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name,
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

func (h *host) run(_ context.Context, a cmdArgs) (any, error) {
	h.ran = append(h.ran, strings.Join(a.Cmd, " "))
	if own, ok := h.programs[a.Cmd[0]]; ok {
		code, out := own(a.Cmd[1:])
		return data.NewMap("retcode", code, "stdout", out, "stderr", out), nil
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(a.Cmd[0], a.Cmd[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &errs, strings.NewReader(a.Kwargs.Text("stdin"))
	cmd.Env = append(os.Environ(), "GNUPGHOME="+h.t.TempDir())
	code := int64(0)
	if err := cmd.Run(); err != nil {
		code = 1
	}
	return data.NewMap("retcode", code, "stdout", out.String(), "stderr", errs.String()), nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *host) call(fun string, args []any, words ...any) (any, error) {
	return h.registry.Invoke(h.t.Context(), "pkg."+fun, args, data.NewMap(words...))
}

// want calls a function that must succeed.
func (h *host) want(fun string, args []any, words ...any) any {
	h.t.Helper()
	v, err := h.call(fun, args, words...)
	must(h.t, err)
	return v
}

// text returns the content of a file, or "none" if it does not exist.
func (h *host) text(file string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.root, file))
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	must(h.t, err)
	return string(text)
}

// testdata/sources.json has the results of Salt 3006.0 without python3-apt, and the resulting
// files.
func TestCalls(t *testing.T) {
	src, err := os.ReadFile("testdata/sources.json")
	must(t, err)
	v, err := vectors.Decode(src)
	must(t, err)
	files := map[string]string{}
	for name, text := range v.(*data.Map).Value("files").(*data.Map).All() {
		files[name.(string)] = text.(string)
	}
	for _, c := range v.(*data.Map).Value("calls").([]any) {
		c := c.(*data.Map)
		h := newHost(t, files)
		h.has["apt-key"] = true
		got, err := h.registry.Invoke(t.Context(), c.Text("fun"), c.Value("args").([]any),
			c.Value("kwargs").(*data.Map))
		value, ok := c.Get("value")
		switch {
		case c.Has("error"):
			if text := calls.Text(err); text != c.Text("error") {
				t.Errorf("%s\ngives %s, %s", data.Repr(c), data.Repr(got), text)
			}
		case err != nil || ok && !data.Equal(got, value) && c.Text("fun") != "pkg.list_repos":
			t.Errorf("%s\ngives %s, %v", data.Repr(c), data.Repr(got), err)
		case ok && !data.Equal(got, value):
			t.Errorf("%s\ngives %s", data.Repr(value), data.Repr(got))
		}
		for range 2 { // the second call changes nothing
			for name, text := range c.Value("after").(*data.Map).All() {
				if h.text(name.(string)) != text {
					t.Errorf("%s %s: %s is\n%s\nwant\n%s", c.Text("fun"),
						data.Repr(c.Value("kwargs")), name, h.text(name.(string)), text)
				}
			}
			if c.Text("fun") != "pkg.del_repo" {
				_, _ = h.registry.Invoke(t.Context(), c.Text("fun"), c.Value("args").([]any),
					c.Value("kwargs").(*data.Map))
			}
		}
	}
}

const debianSources = `# made by the installer
Types: deb deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
# a remark
Architectures: amd64 arm64
Trusted: yes
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----
Enabled: no
`

func TestStanzasAreSources(t *testing.T) {
	h := newHost(t, map[string]string{"/etc/apt/sources.list.d/debian.sources": debianSources})
	repos := h.want("list_repos", nil).(*data.Map)
	if all := repos.Value("http://deb.debian.org/debian").([]any); len(all) != 4 {
		t.Errorf("there are %s", data.Repr(all))
	}
	got := h.want("get_repo", []any{"deb-src http://deb.debian.org/debian/ bookworm-updates contrib"})
	want := data.NewMap("file", "/etc/apt/sources.list.d/debian.sources",
		"comps", []any{"main", "contrib"}, "disabled", false, "dist", "bookworm-updates",
		"type", "deb-src", "uri", "http://deb.debian.org/debian", "line",
		"deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-updates main contrib",
		"architectures", []any{}, "signedby", "/usr/share/keyrings/debian-archive-keyring.gpg")
	if !data.Equal(got, want) {
		t.Errorf("got %s\nwant %s", data.Repr(got), data.Repr(want))
	}
	security := h.want("get_repo",
		[]any{"deb http://deb.debian.org/debian-security bookworm-security main"}).(*data.Map)
	if security.Value("disabled") != true ||
		security.Text("line") != "# deb [arch=amd64,arm64 trusted=yes] http://deb.debian.org/debian-security bookworm-security main" {
		t.Errorf("got %s", data.Repr(security))
	}
}

func TestStanzasChange(t *testing.T) {
	const file = "/etc/apt/sources.list.d/debian.sources"
	_, second, _ := strings.Cut(debianSources, "\n\n")
	signed := "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
	first := func(types, suites, comps string) string {
		return "# made by the installer\nTypes: " + types +
			"\nURIs: http://deb.debian.org/debian\nSuites: " + suites + "\nComponents: " + comps +
			"\n" + signed
	}
	for _, tt := range []struct{ name, fun, repo, want string }{
		{"one of two types goes", "del_repo", "deb-src http://deb.debian.org/debian bookworm main contrib",
			first("deb", "bookworm", "main contrib") + "\n" +
				first("deb", "bookworm-updates", "main contrib") + "\n" +
				first("deb-src", "bookworm-updates", "main contrib") + "\n" + second},
		{"a component goes", "del_repo",
			"deb http://deb.debian.org/debian-security bookworm-security main", first("deb deb-src",
				"bookworm bookworm-updates", "main contrib") + "\n"},
		{"a component comes", "mod_repo",
			"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main contrib non-free",
			first("deb", "bookworm-updates", "main contrib") + "x"},
	} {
		h := newHost(t, map[string]string{file: debianSources})
		if tt.repo == "deb http://deb.debian.org/debian-security bookworm-security main" {
			tt.repo = "deb [arch=amd64,arm64] http://deb.debian.org/debian-security bookworm-security main"
		}
		if tt.fun == "mod_repo" {
			tt.want = first("deb", "bookworm", "main contrib non-free") + "\n" +
				first("deb", "bookworm-updates", "main contrib") + "\n" +
				first("deb-src", "bookworm", "main contrib") + "\n" +
				first("deb-src", "bookworm-updates", "main contrib") + "\n" + second
		}
		h.want(tt.fun, []any{tt.repo})
		if got := h.text(file); got != tt.want {
			t.Errorf("%s: the file is\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if _, err := h.call(tt.fun, []any{tt.repo}); (err == nil) != (tt.fun == "mod_repo") ||
			h.text(file) != tt.want {
			t.Errorf("%s: a second time, %v, the file is\n%s", tt.name, err, h.text(file))
		}
	}
}

func TestNewStanza(t *testing.T) {
	const file = "/etc/apt/sources.list.d/web.sources"
	h := newHost(t, map[string]string{file: "Types: deb\nURIs: http://a\nSuites: x\nComponents: main\n"})
	for range 2 {
		h.want("mod_repo", []any{"deb [arch=amd64,arm64 trusted=yes signed-by=/etc/apt/keyrings/w.gpg] http://web ./"}, "file", file, "disabled", true)
		want := "Types: deb\nURIs: http://a\nSuites: x\nComponents: main\n\nEnabled: no\nTypes: deb\nURIs: http://web\nSuites: ./\n" +
			"Architectures: amd64 arm64\nTrusted: yes\nSigned-By: /etc/apt/keyrings/w.gpg\n"
		if got := h.text(file); got != want {
			t.Errorf("the file is\n%s\nwant\n%s", got, want)
		}
	}
	if h.refreshed != 2 {
		t.Errorf("the lists were read %d times", h.refreshed)
	}
}

// Salt 3006.0 loses these: options other than architectures and key, blanks and comments of other
// sources, and the owner's mode.
func TestOtherSourcesUnchanged(t *testing.T) {
	const before = "deb [ trusted=yes ] http://a x main  # mine\n\n# hello\n"
	h := newHost(t, map[string]string{"/etc/apt/sources.list": before})
	must(t, os.Chmod(filepath.Join(h.root, mainFile), 0o640))
	for range 2 {
		h.want("mod_repo", []any{"deb [trusted=yes lang=de,en] http://b x main"})
		if got := h.text(mainFile); got != before+"deb [trusted=yes lang=de,en] http://b x main\n" {
			t.Errorf("the file is\n%s", got)
		}
	}
	if info, err := os.Stat(filepath.Join(h.root, mainFile)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has %v, %v", info, err)
	}
}

func TestDelRepo(t *testing.T) {
	h := newHost(t, map[string]string{mainFile: "deb http://a x main contrib\ndeb [arch=amd64] http://a x main\n", "/etc/apt/sources.list.d/b.list": "deb http://b ./\n\n"})
	for _, tt := range []struct{ repo, want string }{
		{"deb http://a/ x contrib", "Repo 'deb http://a/ x contrib' has been removed from /etc/apt/sources.list.\n"},
		{"deb http://b/ ./", "File /etc/apt/sources.list.d/b.list containing repo 'deb http://b/ ./' has been removed."},
	} {
		if got := h.want("del_repo", []any{tt.repo}); got != tt.want {
			t.Errorf("it says %v, want %q", got, tt.want)
		}
		if got, err := h.call("del_repo", []any{tt.repo}); err == nil || err.Error() != "Repo "+
			tt.repo+" doesn't exist in the sources.list(s)" {
			t.Errorf("a second time it returned %v, %v", got, err)
		}
	}
	if got := h.text(mainFile); got != "deb http://a x main\ndeb [arch=amd64] http://a x main\n" ||
		h.text("/etc/apt/sources.list.d/b.list") != "none" || h.refreshed != 2 {
		t.Errorf("left is %s, read %d times", got, h.refreshed)
	}
}

func TestExpandRepoDef(t *testing.T) {
	h := newHost(t, nil)
	for range 2 {
		got := h.want("expand_repo_def", nil, "repo",
			"deb [signed-by=/k.gpg arch=amd64] http://n/ stable main extra #x", "comps",
			"main, contrib", "dist", "testing")
		want := data.NewMap("file", mainFile, "comps", []any{"main", "contrib"}, "disabled", false,
			"dist", "testing", "type", "deb", "uri", "http://n/",
			"line", "deb [arch=amd64 signed-by=/k.gpg] http://n/ testing main contrib",
			"architectures", []any{"amd64"}, "signedby", "/k.gpg")
		if !data.Equal(got, want) {
			t.Errorf("got %s\nwant %s", data.Repr(got), data.Repr(want))
		}
	}
	if _, err := h.call("expand_repo_def",
		nil); calls.Text(err) != "salt.exceptions.SaltInvocationError: missing 'repo' argument" {
		t.Error(err)
	}
}

func TestModRepoRejects(t *testing.T) {
	h := newHost(t, nil)
	for repo, want := range map[string]string{
		"deb http://a":                         "salt.exceptions.SaltInvocationError: Name deb http://a is not valid. This must be the complete repo entry as seen in the sources file",
		"deb [arch=amd64 http://a x main":      "salt.exceptions.SaltInvocationError: Name deb [arch=amd64 http://a x main is not valid. This must be the complete repo entry as seen in the sources file",
		"deb http://a x main":                  "salt.exceptions.SaltInvocationError: missing 'signedby' option when apt-key is missing",
		"deb [signed-by=/none/k] http://a x y": "salt.exceptions.CommandExecutionError: Error: file not found: salt://k",
	} {
		if got, err := h.call("mod_repo", []any{repo}, "key_url", "salt://k"); calls.Text(err) != want {
			t.Errorf("%s returned %v, %v", repo, got, calls.Text(err))
		}
	}
	if h.text(mainFile) != "none" {
		t.Error("the source was written")
	}
}

func TestPPA(t *testing.T) {
	h := newHost(t, nil)
	h.grains = data.NewMap("os_family", "Debian", "os", "Ubuntu", "oscodename", "jammy", "osrelease", "22.04")
	h.has["apt-key"] = true
	h.urls["https://api.launchpad.net/1.0/~wolfnet/+archive/logstash"] = `{"signing_key_fingerprint": "0123456789ABCDEF", "private": false}`
	h.programs["apt-key"] = func(args []string) (int64, string) {
		if args[0] == "export" {
			return 0, "-----BEGIN PGP PUBLIC KEY BLOCK-----"
		}
		return 1, "unexpected"
	}
	const file = "/etc/apt/sources.list.d/wolfnet-logstash-jammy.list"
	for range 2 {
		h.want("mod_repo", []any{"ppa:wolfnet/logstash"})
		if got := h.text(file); got != "deb http://ppa.launchpad.net/wolfnet/logstash/ubuntu jammy main\n" {
			t.Errorf("the file is %q", got)
		}
	}
	if got := h.want("get_repo", []any{"ppa:wolfnet/logstash"}).(*data.Map); got.Text("file") != file {
		t.Errorf("got %s", data.Repr(got))
	}
	_, err := h.call("mod_repo", []any{"ppa:no/body"})
	if want := "Launchpad does not know about no/body: HTTP 404"; err == nil || err.Error() != want {
		t.Errorf("it returned %v", err)
	}
	h.has["apt-add-repository"] = true
	h.programs["apt-add-repository"] = func(args []string) (int64, string) { return 1, strings.Join(args, " ") }
	_, err = h.call("mod_repo", []any{"ppa:no/body"})
	if want := "Unable to add PPA 'no/body'. '['apt-add-repository', '-y', 'ppa:no/body']' exited with status 1: '-y ppa:no/body' "; err == nil || err.Error() != want {
		t.Errorf("it returned %v", err)
	}
	h.want("del_repo", []any{"ppa:wolfnet/logstash"})
	if h.text(file) != "none" {
		t.Error("the file is still there")
	}
}

func FuzzSources(f *testing.F) {
	f.Add(debianSources, true)
	f.Add("deb [arch=a trusted=yes] http://a x main #b\n# deb cdrom:[a b]/ x y\n", false)
	f.Fuzz(func(t *testing.T, text string, stanzas bool) {
		file := "/etc/apt/sources.list.d/a.list"
		if stanzas {
			file = "/etc/apt/sources.list.d/a.sources"
		}
		s := &sources{read: map[string]string{file: text}, entries: parse(text, file)}
		if got := s.text(file); got != text && !strings.HasSuffix(text, "\n\n") {
			t.Errorf("%q is written as %q", text, got)
		}
		for _, e := range s.valid() {
			e.changed = true
			if again := parseLine(e.line()+"\n", mainFile); !stanzas && (again.invalid || !again.same(e)) {
				t.Errorf("%q becomes %q", e.text, e.line())
			}
		}
		_ = s.text(file)
	})
}
