package pkgresource

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	pkg := loader.Plugin{Name: "pkg", New: func(*loader.Env) (*loader.Module, error) {
		type args struct {
			Kwargs *data.Map `kwargs:"kwargs"`
		}
		return &loader.Module{Funcs: []loader.Func{loader.F("list_pkgs",
			func(context.Context, args) (any, error) {
				return data.NewMap("vim", []any{"9"}, "linux", []any{"5", "6"}), nil
			})}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{Grains: func() *data.Map { return data.NewMap("os", "Debian") }}, []loader.Plugin{pkg, Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFunctions(t *testing.T) {
	r := registry(t)
	full := func() any {
		return data.NewMap("vim", []any{data.NewMap("epoch", "1", "version", "9", "release", "2",
			"arch", "amd64")})
	}
	for _, c := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   any
	}{
		{"version", []any{"vim"}, nil, "9"},
		{"version", []any{"linux", "emacs"}, nil, data.NewMap("linux", "5,6", "emacs", "")},
		{"version", []any{"linux"}, data.NewMap("versions_as_list", true), []any{"5", "6"}},
		{"version_clean", []any{"1.2"}, nil, "1.2"},
		{"version_compare", []any{"3.5", "<=", "3.10"}, nil, true},
		{"version_compare", []any{"1:3", "==", "3"}, data.NewMap("ignore_epoch", true), true},
		{"version_compare", []any{"3", "=<", "3"}, nil, false},
		{"check_extra_requirements", []any{"vim", "x"}, nil, true},
		{"format_version", []any{"1", "2.3", "4"}, nil, "1:2.3-4"},
		{"format_version", []any{"", "2.3", ""}, nil, "2.3"},
		{"format_pkg_list", []any{full(), false, nil}, nil, data.NewMap("vim", "1:9-2")},
		{"format_pkg_list", []any{full(), true, nil}, nil, data.NewMap("vim", []any{"1:9-2"})},
		{"format_pkg_list", []any{full(), false, []any{"epoch"}}, nil,
			data.NewMap("vim", []any{data.NewMap("arch", "amd64", "epoch", "1", "version", "9")})},
		{"pack_sources", []any{`[{"foo": "/a.deb"}, {"bar": "/b.deb"}]`}, nil,
			data.NewMap("foo", "/a.deb", "bar", "/b.deb")},
		{"pack_sources", []any{[]any{"foo"}}, nil, data.NewMap()},
		{"parse_targets", []any{"a,b"}, nil, data.Tuple{data.NewMap("a", nil, "b", nil), "repository"}},
		{"parse_targets", []any{"a"}, data.NewMap("version", "1"),
			data.Tuple{data.NewMap("a", "1"), "repository"}},
		{"parse_targets", []any{nil, []any{"a", data.NewMap("b", 2)}}, nil,
			data.Tuple{data.NewMap("a", nil, "b", "2"), "repository"}},
		{"parse_targets", []any{"p"}, data.NewMap("advisory_ids", []any{}),
			data.Tuple{[]any{"p"}, "advisory"}},
		{"parse_targets", []any{nil, []any{"a"}, []any{"b"}}, nil, data.Tuple{nil, nil}},
		{"parse_targets", nil, nil, data.Tuple{nil, nil}},
	} {
		for range 2 {
			if got, err := r.Invoke(t.Context(), "pkg_resource."+c.fun, c.args,
				c.kwargs); err != nil || !data.Equal(got, c.want) {
				t.Errorf("%s %s = %s, %v, want %s", c.fun, data.Repr(c.args), data.Repr(got), err,
					data.Repr(c.want))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "pkg_resource.parse_targets", []any{nil, []any{"a", "a"}},
		nil); loader.KindOf(err) != loader.KindInvocation {
		t.Errorf("a package twice gives %s, %v", data.Repr(got), err)
	}
}

func TestChangesInPlace(t *testing.T) {
	r, pkgs := registry(t), &data.Map{}
	call := func(fun string, args ...any) {
		t.Helper()
		if _, err := r.Invoke(t.Context(), "pkg_resource."+fun, append([]any{pkgs}, args...),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []string{"2", "1", "2"} {
		call("add_pkg", "bind", v)
	}
	for range 2 {
		call("sort_pkglist")
		if !data.Equal(pkgs, data.NewMap("bind", []any{"1", "2"})) {
			t.Errorf("got %s", data.Repr(pkgs))
		}
	}
	for range 2 {
		call("stringify")
		if !data.Equal(pkgs, data.NewMap("bind", "1,2")) {
			t.Errorf("got %s", data.Repr(pkgs))
		}
	}
}
