package loader

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/data"
)

// plugin returns a plug-in with one function each of the given names, which return the plug-in's
// file name.
func plugin(name, file string, funcs ...string) Plugin {
	p := Plugin{Name: name, File: file}
	p.New = func(*Env) (*Module, error) {
		m := &Module{Doc: "about " + p.file()}
		for _, f := range funcs {
			m.Funcs = append(m.Funcs, F(f,
				func(context.Context, NoArgs) (any, error) {
					return p.file(),
						nil
				}).Document("\n    Doc of "+f+".\n    "))
		}
		return m, nil
	}
	return p
}

func refusing(name, file, reason string) Plugin {
	return Plugin{Name: name, File: file, New: func(*Env) (*Module, error) { return nil, errors.New(reason) }}
}

func registry(t *testing.T, env *Env, plugins ...Plugin) *Registry {
	t.Helper()
	r, err := NewRegistry(env, plugins)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A factory that asks for a function of its own module, directly or through another module, must
// not wait for itself.
func TestFactoryThatAsksForItself(t *testing.T) {
	for name, asked := range map[string]string{"directly": "motd.set", "through another": "other.set"} {
		t.Run(name, func(t *testing.T) {
			asking := func(name, needed string) Plugin {
				return Plugin{Name: name, New: func(env *Env) (*Module, error) {
					if !env.Functions.Has(needed) {
						return nil, errors.New(env.Functions.MissingText(needed))
					}
					return &Module{}, nil
				}}
			}
			r := registry(t, &Env{}, asking("motd", asked), asking("other", "motd.set"))
			const want = "'motd' __virtual__ returned False: motd asks for itself while it is built"
			if got := r.MissingText("motd.set"); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

func TestProviders(t *testing.T) {
	plugins := []Plugin{refusing("pkg", "yumpkg", "no yum"), plugin("pkg", "aptpkg", "install"),
		plugin("pkg", "opkg", "install"), plugin("svc", "", "x")}
	r := registry(t, &Env{}, plugins...)
	if got := r.Provider("pkg"); got != "aptpkg" {
		t.Errorf("pkg is provided by %q, want aptpkg, the first that works", got)
	}
	if r.Has("aptpkg.install") {
		t.Error("the name of the file is a module's name")
	}
	r = registry(t, &Env{Opts: data.NewMap("providers", data.NewMap("pkg", "opkg"))}, plugins...)
	if got := r.Provider("pkg"); got != "opkg" {
		t.Errorf("pkg is provided by %q, want opkg as the option providers says", got)
	}
	same(t, "modules", textList(r.Modules()), []any{"pkg", "svc"})
	same(t, "names", textList(r.Names()), []any{"pkg.install", "svc.x"})
	same(t, "files", textList(r.Files()), []any{"aptpkg", "opkg", "svc", "yumpkg"})
}

// In a Debian container Salt's `service` is the sysvinit module, plus the functions that only the
// systemd module has.
func TestFunctionsOfProvidersAreJoined(t *testing.T) {
	plugins := []Plugin{plugin("service", "debian_service", "start"),
		refusing("service", "rh_service", "no"), plugin("service", "systemd_service", "start", "mask")}
	for preferred, want := range map[any][2]string{nil: {"debian_service", "systemd_service"},
		"systemd_service": {"systemd_service", "systemd_service"}} {
		r := registry(t, &Env{Opts: data.NewMap("providers", data.NewMap("service", preferred))}, plugins...)
		for range 2 {
			got := [2]string{}
			for i, fun := range []string{"service.start", "service.mask"} {
				v, err := r.Invoke(t.Context(), fun, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				got[i] = v.(string)
			}
			if got != want || r.Provider("service") != want[0] || r.Has("service.show") {
				t.Errorf("with %v: %v of %s, want %v", preferred, got, r.Provider("service"), want)
			}
		}
	}
}

func TestWith(t *testing.T) {
	named := Plugin{Name: "opt", New: func(env *Env) (*Module, error) {
		return &Module{Funcs: []Func{F("id",
			func(context.Context, NoArgs) (any, error) { return env.Option("id"), nil }),
			F("other", func(ctx context.Context, _ NoArgs) (any, error) { return env.Call(ctx, "opt.id", nil, nil) })}}, nil
	}}
	r := registry(t, &Env{Opts: data.NewMap("id", "a")}, named)
	next := r.With(&Env{Opts: data.NewMap("id", "b")})
	for fun, want := range map[*Registry]string{r: "a", next: "b"} {
		if got := fun.Call(t.Context(), "opt.other", nil, CallOptions{}).Value; got != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if names := (*Registry)(nil).With(&Env{}).Names(); len(names) != 0 {
		t.Errorf("of no registry: %v", names)
	}
}

func textList(names []string) []any {
	list := []any{}
	for _, n := range names {
		list = append(list, n)
	}
	return list
}

func TestAliasesOfModules(t *testing.T) {
	p := plugin("iptables", "", "save")
	p.Aliases = []string{"firewall"}
	r := registry(t, &Env{}, p)
	if v, err := r.Invoke(t.Context(), "firewall.save", nil, nil); v != "iptables" || err != nil {
		t.Errorf("firewall.save gives %v, %v", v, err)
	}
	same(t, "names", textList(r.Names()), []any{"firewall.save", "iptables.save"})
}

func TestMissingTexts(t *testing.T) {
	broken := Plugin{Name: "broken", New: func(*Env) (*Module, error) { panic("cannot import name 'x'") }}
	twice := plugin("twice", "", "a", "a")
	r := registry(t, &Env{}, plugin("test", "", "ping"), refusing("pkg", "yumpkg", "no yum"),
		refusing("quiet", "", ""), broken, twice)
	for fun, want := range map[string]string{
		"test.pong":      "'test.pong' is not available.",
		"nosuch.fun":     "'nosuch.fun' is not available.",
		"nodot":          "'nodot' is not available.",
		"pkg.install":    "'pkg' __virtual__ returned False: no yum",
		"yumpkg.install": "'yumpkg' __virtual__ returned False: no yum",
		"quiet.x":        "'quiet' __virtual__ returned False",
		"broken.x":       "'broken.x' is not available. Possible reasons: 'cannot import name 'x''",
		"twice.a":        `'twice' __virtual__ returned False: function "a": no name, or listed twice`,
	} {
		res := r.Call(t.Context(), fun, nil, CallOptions{})
		if res.Value != want || res.Retcode != 1 || res.Success || res.Out != "nested" ||
			res.Kind() != KindMissing {
			t.Errorf("Call of %q gives %+v, want %q", fun, res, want)
		}
	}
}

func TestMissingFunctionShowsDocsOfThoseThatBeginSo(t *testing.T) {
	r := registry(t, &Env{}, plugin("test", "", "ping", "echo"), plugin("other", "", "x"))
	res := r.Call(t.Context(), "test", nil, CallOptions{})
	same(t, "value", res.Value, data.NewMap("test.echo", "\n    Doc of echo.\n    ", "test.ping",
		"\n    Doc of ping.\n    ", "test", "'test' is not available."))
}

func TestDuplicatePluginsAreRefused(t *testing.T) {
	if _, err := NewRegistry(&Env{}, []Plugin{plugin("a", "x"), plugin("b", "x")}); err == nil {
		t.Error("two plug-ins of one file name are let pass")
	}
}

func TestModulesAreBuiltOnceAndWhenNeeded(t *testing.T) {
	var built atomic.Int32
	ok := atomic.Bool{}
	ok.Store(true)
	p := Plugin{Name: "m", New: func(env *Env) (*Module, error) {
		built.Add(1)
		if !ok.Load() {
			return nil, errors.New("gone")
		}
		return plugin("m", "", "f").New(env)
	}}
	r := registry(t, &Env{}, plugin("other", "", "f"), p)
	if r.Has("other.f"); built.Load() != 0 {
		t.Error("m was built though nobody asked for it")
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if !r.Has("m.f") {
				t.Error("m.f is missing")
			}
			r.Names()
		})
	}
	if all.Wait(); built.Load() != 1 {
		t.Errorf("m was built %d times, want once", built.Load())
	}
	ok.Store(false)
	if r.Reload(); r.Has("m.f") || built.Load() != 2 {
		t.Errorf("after Reload m.f is there, or m was not built again (%d)", built.Load())
	}
}

func TestRetryTriesAgainWhatDidNotWork(t *testing.T) {
	kept, tried, there := 0, 0, false
	r := registry(t, &Env{}, Plugin{Name: "kept", New: func(env *Env) (*Module, error) {
		kept++
		return plugin("kept", "", "f").New(env)
	}}, Plugin{Name: "m", File: "m_linux", New: func(env *Env) (*Module, error) {
		if tried++; !there {
			return nil, errors.New("the program is missing")
		}
		return plugin("m", "", "f").New(env)
	}})
	if !r.Has("kept.f") || r.Has("m.f") || r.Has("m_linux.f") || tried != 1 {
		t.Fatalf("m was tried %d times", tried)
	}
	there = true
	if r.Has("m.f") {
		t.Error("m.f is there though nothing was tried again")
	}
	r.Retry()
	if !r.Has("m.f") || r.Has("m_linux.f") || tried != 2 {
		t.Errorf("m.f is missing, or m was tried %d times", tried)
	}
	if r.Retry(); !r.Has("m.f") || !r.Has("kept.f") || tried != 2 || kept != 1 {
		t.Errorf("what works was built anew: m %d times, kept %d", tried, kept)
	}
}

func TestReplaceTakesNewPlugins(t *testing.T) {
	r := registry(t, &Env{}, plugin("a", "", "f"))
	if err := r.Replace([]Plugin{plugin("b", "", "f")}); err != nil || r.Has("a.f") || !r.Has("b.f") {
		t.Errorf("Replace: %v, a.f %v, b.f %v", err, r.Has("a.f"), r.Has("b.f"))
	}
	if err := r.Replace([]Plugin{{}}); err == nil || !r.Has("b.f") {
		t.Errorf("a bad list is taken (error %v), or the old one is lost", err)
	}
}

func TestNilRegistryIsEmpty(t *testing.T) {
	var r *Registry
	r.Reload()
	if r.Has("a.b") || len(r.Names())+len(r.Modules())+len(r.Files())+r.Docs("").Len()+r.Argspec("*").Len() != 0 || r.Provider("a")+r.ModuleDoc("a") != "" {
		t.Error("a nil Registry is not empty")
	}
}

func TestAllowed(t *testing.T) {
	plugins := []Plugin{plugin("pkg", "aptpkg"), plugin("test", ""), plugin("cmd", "cmdmod")}
	for name, tt := range map[string]struct {
		opts *data.Map
		want string
	}{
		"no options": {nil, "aptpkg test cmdmod"},
		"disabled":   {data.NewMap("disable_modules", []any{"cmdmod", "pkg"}), "aptpkg test"},
		"white list": {data.NewMap("whitelist_modules", []any{"pkg", "cmd"}), "aptpkg cmdmod"},
		"one text":   {data.NewMap("disable_modules", "test"), "aptpkg cmdmod"},
	} {
		var got []string
		for _, p := range Allowed(plugins, tt.opts, "modules") {
			got = append(got, p.file())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}

func TestDocsAndSelect(t *testing.T) {
	r := registry(t, &Env{}, plugin("sys", "", "doc", "list_a"), plugin("sysctl", "", "get"))
	for word, want := range map[string]string{
		"": "sys.doc sys.list_a sysctl.get", "sys": "sys.doc sys.list_a",
		"sys.": "sys.doc sys.list_a", "sys.doc": "sys.doc",
		"sys*": "sys.doc sys.list_a sysctl.get", "*.g*": "sysctl.get", "nosuch": "",
	} {
		var got []string
		for k := range r.Docs(word).All() {
			got = append(got, k.(string))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Docs of %q are of %v, want %s", word, got, want)
		}
	}
	for word, want := range map[string]string{"": "", "sys": "sys.doc sys.list_a",
		"sys.list_*": "sys.list_a", "sysctl.get": "sysctl.get", "*": "sys.doc sys.list_a sysctl.get"} {
		if got := r.Select(word); strings.Join(got, " ") != want {
			t.Errorf("Select of %q is %v, want %s", word, got, want)
		}
	}
}

func TestStripRST(t *testing.T) {
	in := "\n    Text.\n\n    .. code-block:: bash\n\n        salt '*' x\n\n    .. versionadded:: 2015.5.0\n    .. note::\n        n\n    "
	want := "\n    Text.\n\n        salt '*' x\n\n    New in version 2015.5.0\n    Note:\n        n\n    "
	if got := StripRST(in); got != want {
		t.Errorf("StripRST gives %q, want %q", got, want)
	}
	if got := StripRST(""); got != nil {
		t.Errorf("StripRST of nothing gives %v, want nil", got)
	}
}
