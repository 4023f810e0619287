package packages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func loosely(a, b string) (int, bool) { return Loose(a, b), true }

// The answers are those of salt.utils.pkg.split_comparison of 3006.0.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ in, oper, version string }{
		{"1.2", "", "1.2"}, {">=1.2", ">=", "1.2"}, {">= 1.2", ">=", "1.2"}, {">=  1.2", ">=",
			" 1.2"}, {"==1.2", "", "==1.2"},
		{"=1.2", "=", "1.2"}, {"<<1", "<<", "1"}, {"<>1", "<>", "1"}, {"<=>1", "<=>", "1"}, {"!=1",
			"!=", "1"}, {"", "", ""},
		{">", "", ">"}, {"1>2", "", "1>2"}, {"> ", ">", " "}, {"!1", "", "!1"}, {" 1", "", "1"},
	} {
		if oper, version := Split(c.in); oper != c.oper || version != c.version {
			t.Errorf("Split(%q) = %q, %q, want %q, %q", c.in, oper, version, c.oper, c.version)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		a, oper, b string
		want       bool
	}{
		{"1.10", ">", "1.9", true}, {"1", "<", "2", true}, {"1", "==", "1", true}, {"1", "!=",
			"1", false}, {"1", "!=", "2", true},
		{"1", "<=", "1", true}, {"2", ">=", "3", false}, {"1", "=", "1", false}, {"1", "<<", "2", false},
	} {
		if got := Holds(c.a, c.oper, c.b, loosely); got != c.want {
			t.Errorf("%s %s %s is %t", c.a, c.oper, c.b, got)
		}
		if Holds(c.a, c.oper, c.b, func(string, string) (int, bool) { return 0, false }) {
			t.Errorf("%s %s %s holds of what cannot be compared", c.a, c.oper, c.b)
		}
	}
	if got, ok := Match(">1.2", []string{"1.1", "1.3", "1.4"}, loosely); got != "1.3" || !ok {
		t.Errorf("Match gives %q, %t", got, ok)
	}
	if got, ok := Match("1.4", []string{"1.1", "1.4"}, loosely); got != "1.4" || !ok {
		t.Errorf("Match gives %q, %t", got, ok)
	}
	if got, ok := Match("<1", []string{"1.1"}, loosely); ok {
		t.Errorf("Match gives %q", got)
	}
}

// The answers are those of salt.utils.versions.version_cmp of 3006.0.
func TestLoose(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"1.0", "1", 1}, {"1.10", "1.9", 1}, {"1.09", "1.9", 0}, {"1.2a",
			"1.2", 1}, {"1.2a", "1.2b", -1},
		{"1.2-3", "1.2-10", -1}, {"", "", 0}, {"", "1", -1}, {"2:1", "1:2", 1}, {"1.2rc1",
			"1.2", 1}, {"a", "1", 1},
		{"123456789012", "99999999999", 1}, {"1..2", "1.2", 0},
	} {
		if got := Loose(c.a, c.b); got != c.want {
			t.Errorf("Loose(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Loose(c.b, c.a); got != -c.want {
			t.Errorf("Loose(%q, %q) = %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func TestRefresh(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root, Opts: data.NewMap("cachedir", "/cache")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	env := r.Env()
	check := func(refresh any, want bool) {
		t.Helper()
		if got := NeedsRefresh(env, refresh); got != want {
			t.Errorf("NeedsRefresh(%v) = %t, want %t", refresh, got, want)
		}
	}
	for range 2 {
		check(nil, false)
		check(true, true)
		check(false, false)
		for range 2 {
			AskRefresh(env)
			check(nil, true)
			check("", true)
			check(false, false)
		}
		for range 2 {
			Refreshed(env)
			check(nil, false)
		}
	}
}

func TestTrue(t *testing.T) {
	for _, c := range []struct {
		v    any
		want bool
	}{
		{true, true}, {false, false}, {nil, false}, {int64(1), true}, {int64(0), false}, {int64(-1),
			false}, {0.5, true}, {"1", true},
		{"0", false}, {"True", true}, {"yes", false}, {"", false}, {[]any{1}, true},
	} {
		if got := True(c.v); got != c.want {
			t.Errorf("True(%s) = %t", data.Repr(c.v), got)
		}
	}
}

func TestRepack(t *testing.T) {
	got, wrong := Repack([]any{"vim", data.NewMap("git", "1"), int64(3)})
	if want := data.NewMap("vim", nil, "git", "1", int64(3), nil); wrong != "" || !data.Equal(got, want) {
		t.Errorf("got %s, %q", data.Repr(got), wrong)
	}
	if got, wrong := Repack("[a, {b: c}]"); wrong != "" || !data.Equal(got, data.NewMap("a", nil, "b", "c")) {
		t.Errorf("got %s, %q", data.Repr(got), wrong)
	}
	for _, v := range []any{"a: b", int64(1), []any{data.NewMap("a", 1, "b", 2)}, []any{[]any{}}, "[", nil} {
		if got, wrong := Repack(v); wrong == "" {
			t.Errorf("Repack(%s) = %s", data.Repr(v), data.Repr(got))
		}
	}
}

func TestChanges(t *testing.T) {
	got := Changes(data.NewMap("a", "1", "b", "1", "d", "1"), data.NewMap("c", "1", "b", "2", "d", "1"))
	want := data.NewMap("a", data.NewMap("new", "", "old", "1"),
		"b", data.NewMap("old", "1", "new", "2"), "c", data.NewMap("old", "", "new", "1"))
	if data.Repr(got) != data.Repr(want) {
		t.Errorf("got %s", data.Repr(got))
	}
}

func TestLists(t *testing.T) {
	pkgs := &data.Map{}
	for _, v := range []string{"4.9", "4.10", "4.9"} {
		Add(pkgs, "linux", v)
	}
	Add(pkgs, "vim", "9")
	for range 2 {
		Sort(pkgs)
		if want := data.NewMap("linux", []any{"4.10", "4.9"}, "vim", []any{"9"}); !data.Equal(pkgs, want) {
			t.Errorf("got %s", data.Repr(pkgs))
		}
	}
	for _, c := range []struct {
		names []string
		list  bool
		want  any
	}{
		{[]string{"linux"}, false, "4.10,4.9"},
		{[]string{"linux"}, true, []any{"4.10", "4.9"}},
		{[]string{"emacs"}, false, ""},
		{[]string{"emacs", "vim"}, false, data.NewMap("emacs", "", "vim", "9")},
		{[]string{"v*"}, false, data.NewMap("vim", "9")},
		{[]string{"x*"}, false, data.NewMap()},
		{nil, false, data.NewMap()},
	} {
		if got := Versions(pkgs, c.names, c.list); !data.Equal(got, c.want) {
			t.Errorf("Versions(%v) = %s, want %s", c.names, data.Repr(got), data.Repr(c.want))
		}
	}
	for range 2 {
		Stringify(pkgs)
		if want := data.NewMap("linux", "4.10,4.9", "vim", "9"); !data.Equal(pkgs, want) {
			t.Errorf("got %s", data.Repr(pkgs))
		}
	}
}

func TestScopes(t *testing.T) {
	for text, want := range map[string]bool{"systemd 252 (252.38-1)\n+PAM": true,
		"systemd 204\n": false, "": false, "systemd\n": false} {
		if got := scopes(text); got != want {
			t.Errorf("scopes(%q) = %t", text, got)
		}
	}
}

func FuzzVersions(f *testing.F) {
	f.Add(">=1.2-3", "1.2rc1")
	f.Fuzz(func(t *testing.T, a, b string) {
		Split(a)
		if Loose(a, b) != -Loose(b, a) || Loose(a, a) != 0 {
			t.Errorf("%q and %q have no order", a, b)
		}
	})
}
