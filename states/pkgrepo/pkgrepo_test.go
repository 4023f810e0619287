package pkgrepo

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/aptsources"
	"github.com/brineproject/brine/state/change"
)

type nameArgs struct {
	Name  any
	Other any `default:"None"`
}

func plugin(name, file string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, File: file,
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

// A host is a Debian system in a directory, without apt-key.
type host struct {
	t         *testing.T
	root      string
	refreshed int
	states    *loader.Registry
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func debian(t *testing.T, files map[string]string) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir()}
	must(t, os.MkdirAll(filepath.Join(h.root, "etc/apt/sources.list.d"), 0o755))
	must(t, os.MkdirAll(filepath.Join(h.root, "etc/apt/keyrings"), 0o755))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(h.root, name), []byte(text), 0o644))
	}
	h.registry(data.NewMap("os_family", "Debian", "os", "Debian", "oscodename", "bookworm"),
		plugin("cmd", "", loader.F("which",
			func(context.Context, nameArgs) (any, error) { return nil, nil })),
		plugin("config", "", loader.F("option",
			func(context.Context, nameArgs) (any, error) { return nil, nil })),
		plugin("cp", "", loader.F("cache_file", func(_ context.Context, a nameArgs) (any, error) {
			return filepath.Join(h.root, strings.TrimPrefix(data.Str(a.Name), "salt://")), nil
		})),
		aptsources.Plugin(),
		plugin("pkg", "refresh", loader.F("refresh_db", func(context.Context, loader.NoArgs) (any, error) {
			h.refreshed++
			return data.NewMap(), nil
		})))
	return h
}

func (h *host) registry(grains *data.Map, modules ...loader.Plugin) {
	h.t.Helper()
	env := &loader.Env{Root: h.root, Grains: func() *data.Map { return grains }}
	functions, err := loader.NewRegistry(env, modules)
	must(h.t, err)
	env = functions.Env()
	own := *env
	own.Functions, own.Call = functions, functions.Invoke
	h.states, err = loader.NewRegistry(&own, []loader.Plugin{Plugin()})
	must(h.t, err)
}

func (h *host) text(file string) string {
	text, err := os.ReadFile(filepath.Join(h.root, file))
	if err != nil {
		return "none"
	}
	return string(text)
}

// is runs a state and compares the outcome.
func (h *host) is(test bool, fun string, args *data.Map, result any, changes *data.Map, comment string) {
	h.t.Helper()
	ctx := h.t.Context()
	if test {
		ctx = change.WithCall(ctx, &change.Call{Test: true, Low: &data.Map{}, SaltEnv: "base"})
	}
	got, err := h.states.Invoke(ctx, "pkgrepo."+fun, nil, args.Clone())
	want := change.New(args.Value("name"), result, changes, comment)
	if err != nil || !data.Equal(got, want) {
		h.t.Errorf("%s %s, test mode %v, gives\n%s, %v, want\n%s", fun, data.Repr(args), test,
			data.Repr(got), err, data.Repr(want))
	}
}

// converges runs managed in test mode, twice for real, and in test mode again.
func (h *host) converges(args *data.Map, would, changes *data.Map) {
	h.t.Helper()
	name := args.Text("name")
	h.is(true, "managed", args, nil, would, "Package repo '"+name+
		"' would be configured. This may cause pkg states to behave differently than stated "+
		"if this action is repeated without test=True, due to the differences in the configured repositories.")
	h.is(false, "managed", args, true, changes, "Configured package repo '"+name+"'")
	h.is(false, "managed", args, true, nil, "Package repo '"+name+"' already configured")
	h.is(true, "managed", args, true, nil, "Package repo '"+name+"' already configured")
}

func TestManagedIsAdded(t *testing.T) {
	h := debian(t, nil)
	for name, words := range map[string][]any{
		"deb http://a x main": {"file", "/etc/apt/sources.list.d/a.list", "comps", "main,contrib",
			"comments", []any{"ours", "now"}},
		"deb [signed-by=/etc/apt/keyrings/b.gpg arch=amd64] http://b/ ./": {"file",
			"/etc/apt/sources.list.d/b.sources", "humanname", "B"},
		"deb http://c precise main": {"dist", "xenial",
			"enabled", false},
		"deb [trusted=yes] http://d y main": {"clean_file", true,
			"file", "/etc/apt/sources.list.d/d.list"},
		"deb-src http://e x main universe": {"refresh", false,
			"architectures", "amd64,i386"},
	} {
		args := data.NewMap(append([]any{"name", name}, words...)...)
		h.converges(args, data.NewMap("repo", name), data.NewMap("repo", name))
	}
	for file, want := range map[string]string{
		"/etc/apt/sources.list.d/a.list":    "deb http://a x main contrib #ours now\n",
		"/etc/apt/sources.list.d/b.sources": "Types: deb\nURIs: http://b/\nSuites: ./\nSigned-By: /etc/apt/keyrings/b.gpg\nArchitectures: amd64\n",
		"/etc/apt/sources.list.d/d.list":    "deb [trusted=yes] http://d y main\n",
	} {
		if got := h.text(file); got != want {
			t.Errorf("%s is\n%s", file, got)
		}
	}
	if got := h.text("/etc/apt/sources.list"); !strings.Contains(got,
		"# deb http://c xenial main\n") ||
		!strings.Contains(got, "deb-src [arch=amd64,i386] http://e x main universe\n") {
		t.Errorf("sources.list is\n%s", got)
	}
	if h.refreshed != 4 {
		t.Errorf("the lists were read %d times, want 4", h.refreshed)
	}
}

func TestManagedIsChanged(t *testing.T) {
	h := debian(t, map[string]string{"/etc/apt/sources.list": "deb http://a x main\n#deb http://b x main # ours\n"})
	changes := data.NewMap("comps", change.OldNew([]any{"main"}, []any{"main", "contrib"}),
		"line", change.OldNew("deb http://a x main", "deb http://a x main contrib"))
	h.converges(data.NewMap("name", "deb http://a x main contrib"), changes, changes)
	changes = data.NewMap("disabled", change.OldNew(true, false),
		"line", change.OldNew("#deb http://b x main # ours", "deb http://b x main # ours"))
	would := data.NewMap("disabled", change.OldNew(true, false),
		"line", change.OldNew("#deb http://b x main # ours", "deb http://b x main"))
	h.converges(data.NewMap("name", "deb http://b x main"), would, changes)
	h.is(false, "managed", data.NewMap("name", "deb http://b x main", "comments", "ours"), true,
		nil, "Package repo 'deb http://b x main' already configured")
	h.is(false, "managed", data.NewMap("name", "deb http://b/ x main"), true, nil,
		"Package repo 'deb http://b/ x main' already configured")
	h.converges(data.NewMap("name", "deb [signed-by=/k.gpg arch=amd64] http://b x main"),
		data.NewMap("line", change.OldNew("deb http://b x main # ours",
			"deb [arch=amd64 signed-by=/k.gpg] http://b x main"),
			"architectures", change.OldNew([]any{}, []any{"amd64"}), "signedby", change.OldNew("", "/k.gpg")),
		data.NewMap("line", change.OldNew("deb http://b x main # ours",
			"deb [arch=amd64 signed-by=/k.gpg] http://b x main # ours"),
			"architectures", change.OldNew([]any{}, []any{"amd64"}), "signedby", change.OldNew("", "/k.gpg")))
}

func TestManagedRefuses(t *testing.T) {
	h := debian(t, nil)
	for _, tt := range []struct {
		words   []any
		comment string
	}{
		{[]any{"repo", "x"}, "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended."},
		{[]any{"key_url", "x", "keyid", "y"},
			`You may not use both "keyid"/"keyserver" and "key_url" argument.`},
		{[]any{"key_text", "x", "keyserver", "y"},
			`You may not use both "keyid"/"keyserver" and "key_text" argument.`},
		{[]any{"key_text", "x", "key_url", "y"}, `You may not use both "key_url" and "key_text" argument.`},
		{[]any{"enabled", true, "disabled", false}, "Only one of enabled/disabled is allowed"},
		{[]any{"key_url", " http://x", "allow_insecure_key", false},
			"Cannot have 'key_url' using http with 'allow_insecure_key' set to True"},
		{[]any{"key_url", "salt://x"},
			"Failed to configure repo 'deb http://a x main': missing 'signedby' option when apt-key is missing"},
	} {
		for range 2 {
			h.is(false, "managed", data.NewMap(append([]any{"name", "deb http://a x main"},
				tt.words...)...), false, nil, tt.comment)
		}
	}
}

func TestKeyComesFirst(t *testing.T) {
	h := debian(t, map[string]string{"/key": "no armor"})
	args := data.NewMap("name", "deb [signed-by=/etc/apt/keyrings/k.gpg] http://a x main",
		"key_url", "salt://key", "aptkey", false)
	name := args.Text("name")
	h.converges(args, data.NewMap("repo", name), data.NewMap("repo", name))
	if got := h.text("/etc/apt/keyrings/k.gpg"); got != "no armor" {
		t.Errorf("the key is %q", got)
	}
}

func TestAbsent(t *testing.T) {
	h := debian(t, map[string]string{"/etc/apt/sources.list": "deb http://a x main contrib\ndeb [arch=amd64] http://b x main\n", "/etc/apt/sources.list.d/c.list": "deb http://c ./\n"})
	for _, name := range []string{"deb http://a/ x contrib", "deb [arch=amd64] http://b x main",
		"deb http://c/ ./"} {
		args := data.NewMap("name", name)
		h.is(true, "absent", args, nil, nil, "Package repo '"+name+
			"' will be removed. This may cause pkg states to behave differently than stated if this action "+
			"is repeated without test=True, due to the differences in the configured repositories.")
		h.is(false, "absent", args, true, data.NewMap("repo", name), "Removed repo "+name)
		h.is(false, "absent", args, true, nil, "Package repo "+name+" is absent")
		h.is(true, "absent", args, true, nil, "Package repo "+name+" is absent")
	}
	if got := h.text("/etc/apt/sources.list"); got != "deb http://a x main\n" ||
		h.text("/etc/apt/sources.list.d/c.list") != "none" {
		t.Errorf("left is %q", got)
	}
	h.is(false, "absent", data.NewMap("name", "deb [arch=arm64] http://a x main"), true, nil,
		"Package repo deb [arch=arm64] http://a x main is absent")
}

// A yum stores repositories as dictionaries of strings.
type yum struct{ repos map[string]*data.Map }

type repoArgs struct {
	Repo   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (y *yum) plugin() loader.Plugin {
	return plugin("pkg", "yumpkg",
		loader.F("get_repo", func(_ context.Context, a repoArgs) (any, error) { return y.repos[a.Repo].Clone(), nil }),
		loader.F("mod_repo", func(_ context.Context, a repoArgs) (any, error) {
			repo := data.NewMap()
			for k, v := range a.Kwargs.All() {
				if b, ok := v.(bool); ok {
					v = map[bool]string{true: "1", false: "0"}[b]
				}
				repo.Set(k, data.Str(v))
			}
			if c, ok := a.Kwargs.Get("comments"); ok {
				repo.Set("comments", c)
			}
			y.repos[a.Repo] = repo
			return nil, nil
		}),
		loader.F("del_repo", func(_ context.Context, a repoArgs) (any, error) { delete(y.repos, a.Repo); return "", nil }))
}

func TestRPM(t *testing.T) {
	h := &host{t: t, root: t.TempDir()}
	y := &yum{map[string]*data.Map{}}
	h.registry(data.NewMap("os_family", "RedHat", "os", "CentOS"), y.plugin())
	args := data.NewMap("name", "web", "humanname", "The web", "baseurl", "http://a",
		"gpgcheck", int64(1), "comments", []any{"# one", "two"})
	h.converges(args, data.NewMap("repo", "web"), data.NewMap("repo", "web"))
	args.Set("disabled", true)
	h.converges(args, data.NewMap("enabled", change.OldNew("1", false)),
		data.NewMap("enabled", change.OldNew("1", "0")))
	copr := data.NewMap("name", "hello", "copr", "mymindstorm/hello")
	h.converges(copr, data.NewMap("repo", "hello"), data.NewMap("repo", "copr:mymindstorm/hello"))
	h.is(false, "absent", copr, true, data.NewMap("repo", "copr:mymindstorm/hello"),
		"Removed repo copr:mymindstorm/hello")
	h.is(false, "absent", copr, true, nil, "Package repo copr:mymindstorm/hello is absent")
	h.is(false, "absent", data.NewMap("name", "web", "keyid", "A"), false, nil,
		"Repo key management is not implemented for this platform")
}

func TestNoRepositories(t *testing.T) {
	h := &host{t: t, root: t.TempDir()}
	h.registry(data.NewMap("os_family", "Alpine"))
	if h.states.Has("pkgrepo.managed") {
		t.Error("there is a state without a module for it")
	}
}
