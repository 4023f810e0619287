package pkg_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/pkgresource"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/pkg"
)

// A manager simulates a package manager with groups and patches.
type manager struct {
	installed, newer, fetched, patches map[string]string
	calls                              []string
}

func newManager() *manager {
	return &manager{
		installed: map[string]string{"bash": "5.1", "make": "4"},
		newer:     map[string]string{"bash": "5.2", "gcc": "12", "doc": "1", "tool": "3", "make": "4"},
		fetched:   map[string]string{}, patches: map[string]string{"SUSE-1": "installed"},
	}
}

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// plugin returns the functions of pkg for the manager.
func (p *manager) plugin() loader.Plugin {
	of := func(name string, do func(a anyArgs) any) loader.Func {
		return loader.F(name, func(_ context.Context, a anyArgs) (any, error) { return do(a), nil })
	}
	return loader.Plugin{Name: "pkg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			of("list_pkgs", func(anyArgs) any { return dict(p.installed) }),
			of("version", func(a anyArgs) any {
				found := data.NewMap()
				for _, name := range a.Args {
					found.Set(name, p.installed[name.(string)])
				}
				if _, one := found.At(0); found.Len() == 1 {
					return one
				}
				return found
			}),
			of("list_upgrades", func(anyArgs) any {
				if p.installed["bash"] == p.newer["bash"] {
					return data.NewMap()
				}
				return data.NewMap("bash", p.newer["bash"])
			}),
			of("upgrade", func(anyArgs) any { return p.bring(p.installed, "bash") }),
			of("group_diff", func(anyArgs) any {
				diff := data.NewMap()
				for kind, names := range map[string][]string{"mandatory": {"make", "gcc"},
					"default": {"doc"}, "optional": {"tool"}, "conditional": {}} {
					diff.Set(kind, p.halves(names))
				}
				return diff
			}),
			of("group_install", func(anyArgs) any { return data.NewMap() }),
			of("list_patches", func(anyArgs) any { return p.listPatches() }),
			of("list_installed_patches", func(anyArgs) any { return p.listPatches() }),
			of("list_downloaded", func(anyArgs) any {
				files := data.NewMap()
				for name, version := range p.fetched {
					files.Set(name, data.NewMap(version, data.NewMap("path", "/"+name)))
				}
				return files
			}),
			of("normalize_name", func(a anyArgs) any { return a.Args[0] }),
			of("version_cmp", func(a anyArgs) any { return int64(strings.Compare(data.Str(a.Args[0]), data.Str(a.Args[1]))) }),
			of("install", p.install),
		}}, nil
	}}
}

func dict(m map[string]string) *data.Map {
	out := data.NewMap()
	for name, version := range m {
		out.Set(name, version)
	}
	return out
}

// halves splits names into installed packages and the others.
func (p *manager) halves(names []string) *data.Map {
	there, gone := []any{}, []any{}
	for _, name := range names {
		if p.installed[name] != "" {
			there = append(there, name)
		} else {
			gone = append(gone, name)
		}
	}
	return data.NewMap("installed", there, "not installed", gone)
}

func (p *manager) listPatches() *data.Map {
	out := data.NewMap()
	for id := range p.patches {
		out.Set(id, data.NewMap("installed", true))
	}
	return out
}

// bring upgrades packages to their newest versions and returns the changes.
func (p *manager) bring(into map[string]string, names ...string) *data.Map {
	changes := data.NewMap()
	for _, name := range names {
		if old := into[name]; old != p.newer[name] {
			into[name] = p.newer[name]
			changes.Set(name, was(old, p.newer[name]))
		}
	}
	return changes
}

func (p *manager) install(a anyArgs) any {
	p.calls = append(p.calls, data.Repr(a.Kwargs.Value("downloadonly")))
	if ids, ok := a.Kwargs.Value("advisory_ids").([]any); ok {
		changes := data.NewMap()
		for _, id := range ids {
			if p.patches[data.Str(id)] == "" && a.Kwargs.Value("downloadonly") != true {
				p.patches[data.Str(id)] = "installed"
				changes.Set("of "+data.Str(id), was("1", "2"))
			}
		}
		return changes
	}
	var names []string
	list, _ := a.Kwargs.Value("pkgs").([]any)
	for _, item := range list {
		if m, ok := item.(*data.Map); ok {
			item, _ = m.At(0)
		}
		names = append(names, data.Str(item))
	}
	slices.Sort(names)
	if a.Kwargs.Value("downloadonly") == true {
		return p.bring(p.fetched, names...)
	}
	return p.bring(p.installed, names...)
}

// wanted is the expected outcome in test mode, in the first run, and in the second one.
type wanted struct {
	fun, would, done, same string
	kwargs, changes        *data.Map
}

// TestGroupsAndPatches compares with the texts in Salt's source (salt/states/pkg.py of 3006.0).
func TestGroupsAndPatches(t *testing.T) {
	group := "Group 'Tools' "
	for _, c := range []wanted{
		{"group_installed", group + "is partially installed and will be updated", group +
			"was updated", group + "is already installed", data.NewMap("name", "Tools",
			"skip", []any{"doc"}, "include", []any{"tool"}), data.NewMap("gcc", was("", "12"),
			"tool", was("", "3"))},
		{"uptodate", "System update will be performed", "Upgrade ran successfully",
			"System is already up-to-date", data.NewMap("name", "all", "refresh", true),
			data.NewMap("bash", was("5.1", "5.2"))},
		{"uptodate", "System update will be performed", "Upgrade ran successfully",
			"System is already up-to-date", data.NewMap("name", "some",
				"pkgs", []any{"bash", "make"}), data.NewMap("bash", was("5.1", "5.2"))},
		{"downloaded", "The following packages would be downloaded: gcc", "",
			"All specified packages are already downloaded", data.NewMap("name", "gcc"),
			data.NewMap("gcc", was("", "12"))},
		{"downloaded", "The following packages would be downloaded: gcc", "",
			"All specified packages (matching specified versions) are already downloaded",
			data.NewMap("name", "gcc", "version", "12"), data.NewMap("gcc", was("", "12"))},
		{"patch_installed", "The following advisory patches would be downloaded: SUSE-2", "",
			"All specified advisory patches are already installed",
			data.NewMap("name", "x", "advisory_ids", []any{"SUSE-1", "SUSE-2"}),
			data.NewMap("of SUSE-2", was("1", "2"))},
	} {
		t.Run(c.fun+" "+data.Repr(c.kwargs), func(t *testing.T) { checkTwice(t, c) })
	}
}

// states returns the states of a host with this manager.
func (p *manager) states(t *testing.T) *loader.Registry {
	t.Helper()
	env := &loader.Env{Root: t.TempDir(), Opts: data.NewMap("id", "web1", "cachedir", t.TempDir()),
		Grains: func() *data.Map { return data.NewMap("os_family", "Suse") }}
	funcs, err := loader.NewRegistry(env, []loader.Plugin{p.plugin(), pkgresource.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{pkg.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func checkTwice(t *testing.T, c wanted) {
	p := newManager()
	h := &host{t: t, ctx: loader.WithContext(t.Context(), &loader.Context{}), states: p.states(t)}
	testMode := change.WithCall(h.ctx, &change.Call{Test: true, SaltEnv: "base", Low: &data.Map{}})
	before := newManager()
	if got := h.run(testMode, c.fun, c.kwargs); got.Value("result") != nil ||
		got.Value("comment") != c.would || len(p.calls) > 0 ||
		!data.Equal(dict(p.installed), dict(before.installed)) {
		t.Errorf("test mode gives %s, %v", data.Repr(got), p.calls)
	}
	if got := h.run(h.ctx, c.fun, c.kwargs); got.Value("result") != true ||
		got.Value("comment") != c.done || !data.Equal(got.Value("changes"), c.changes) {
		t.Errorf("the first run gives %s", data.Repr(got))
	}
	for _, ctx := range []context.Context{h.ctx, testMode} {
		if got := h.run(ctx, c.fun, c.kwargs); got.Value("result") != true ||
			got.Value("comment") != c.same || data.Truth(got.Value("changes")) {
			t.Errorf("the second run gives %s", data.Repr(got))
		}
	}
}

// A patch is only downloaded, and one that is already downloaded is no change.
func TestPatchDownloaded(t *testing.T) {
	p := newManager()
	h := &host{t: t, ctx: loader.WithContext(t.Context(), &loader.Context{}), states: p.states(t)}
	for i := range 2 {
		got := h.run(h.ctx, "patch_downloaded", data.NewMap("name", "x", "advisory_ids", []any{"SUSE-2"}))
		if got.Value("result") != true ||
			got.Value("comment") != "Advisory patch is not needed or related packages are already downloaded" ||
			len(p.calls) != i+1 || p.calls[i] != "True" || p.patches["SUSE-2"] != "" {
			t.Errorf("got %s after %v", data.Repr(got), p.calls)
		}
		got = h.run(h.ctx, "patch_installed", data.NewMap("name", "SUSE-1"))
		if got.Value("result") != true ||
			got.Value("comment") != "Advisory patch SUSE-1 is already installed" {
			t.Errorf("got %s", data.Repr(got))
		}
	}
}

func TestRefusedGroupsAndPatches(t *testing.T) {
	for range 2 {
		h := &host{t: t, ctx: loader.WithContext(t.Context(), &loader.Context{}),
			states: newManager().states(t)}
		for want, c := range map[string]struct {
			fun    string
			kwargs *data.Map
		}{
			"The following mandatory packages cannot be skipped: gcc": {"group_installed",
				data.NewMap("name", "Tools", "skip", []any{"gcc"})},
			"skip must be formatted as a list": {"group_installed",
				data.NewMap("name", "Tools", "skip", "gcc")},
			"include must be formatted as a list": {"group_installed",
				data.NewMap("name", "Tools", "include", "gcc")},
			"refresh must be either True or False": {"uptodate",
				data.NewMap("name", "x", "refresh", "maybe")},
		} {
			if got := h.run(h.ctx, c.fun, c.kwargs); got.Value("result") != false ||
				got.Value("comment") != want {
				t.Errorf("got %s, want %s", data.Repr(got), want)
			}
		}
		apt := newHost(t, status, repo)
		for fun, want := range map[string]string{
			"group_installed":  "pkg.group_install not available for this platform",
			"patch_installed":  "The pkg.patch_installed state is not available on this platform",
			"patch_downloaded": "The pkg.patch_downloaded state is not available on this platform",
		} {
			if got := apt.run(apt.ctx, fun,
				data.NewMap("name", "x")); got.Value("result") != false || got.Value("comment") != want {
				t.Errorf("%s gives %s, want %s", fun, data.Repr(got), want)
			}
		}
	}
}

// A watch runs the state again. The second time there is nothing to do.
func TestWatch(t *testing.T) {
	h := newHost(t, status, repo)
	for i, want := range []string{"The following packages were installed/updated: hello",
		"All specified packages are already installed"} {
		got := h.run(h.ctx, "mod_watch", data.NewMap("name", "hello", "sfun", "installed"))
		if got.Value("result") != true || got.Value("comment") != want ||
			data.Truth(got.Value("changes")) != (i == 0) {
			t.Errorf("got %s", data.Repr(got))
		}
		got = h.run(h.ctx, "mod_watch", data.NewMap("name", "hello", "sfun", "held"))
		if got.Value("result") != false ||
			got.Value("comment") != "pkg.held does not work with the watch requisite" {
			t.Errorf("got %s", data.Repr(got))
		}
	}
	for i, want := range []string{"All targeted packages were removed.",
		"All specified packages are already absent"} {
		got := h.run(h.ctx, "mod_watch", data.NewMap("name", "hello", "sfun", "removed"))
		if got.Value("result") != true || got.Value("comment") != want ||
			data.Truth(got.Value("changes")) != (i == 0) {
			t.Errorf("got %s", data.Repr(got))
		}
	}
}
