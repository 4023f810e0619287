package pillar_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// treeOf creates a directory for file_tree, with a link to a directory beside it, and returns it.
func treeOf(t *testing.T) string {
	root := t.TempDir()
	write(t, root, data.NewMap("hosts", data.NewMap("web1/f", "one\n", "web1/sub/t",
		"{{ minion }}{{ grains.os }}\n"), "aside", data.NewMap("g", "two\n\n")))
	if err := os.Symlink(filepath.Join(root, "aside"),
		filepath.Join(root, "hosts", "web1", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "hosts"), filepath.Join(root, "aside", "loop")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestFileTreeFollowsLinksAndKeepsLineBreaksWhenAsked(t *testing.T) {
	root := treeOf(t)
	for _, c := range []struct {
		follow bool
		keep   any
		want   string
	}{
		{false, nil, "{'f': b'one', 'link': {}, 'sub': {'t': b'{{ minion }}{{ grains.os }}'}}"},
		{false, true, "{'f': b'one\\n', 'link': {}, 'sub': {'t': b'{{ minion }}{{ grains.os }}\\n'}}"},
		{false, []any{"./f"}, "{'f': b'one\\n', 'link': {}, 'sub': {'t': b'{{ minion }}{{ grains.os }}'}}"},
		{true, false, "{'f': b'one', 'link': {'g': b'two\\n', 'loop': {'web1': {}}}, 'sub': {'t': b'{{ minion }}{{ grains.os }}'}}"},
	} {
		args := data.NewMap("root_dir", root, "follow_dir_links", c.follow)
		if c.keep != nil {
			args.Set("keep_newline", c.keep)
		}
		p := tree(t, data.NewMap(), data.NewMap("ext_pillar", []any{data.NewMap("file_tree", args)}))
		if got := data.Repr(compile(t, p, pillar.Request{ID: "web1"})); got != c.want {
			t.Errorf("follow %v, keep %v\ngot  %s\nwant %s", c.follow, c.keep, got, c.want)
		}
	}
}

func TestFileTreeRendersAndStaysInItsFolder(t *testing.T) {
	root := t.TempDir()
	write(t, root, data.NewMap("hosts",
		data.NewMap("web1/t", "{{ grains.os }}\n", "web1/y", "#!jinja|yaml\n[{{ 1 + 1 }}]\n")))
	args := data.NewMap("root_dir", root, "template", true, "render_default", "jinja")
	p := tree(t, data.NewMap(), data.NewMap("ext_pillar", []any{data.NewMap("file_tree", args)}))
	same(t, compile(t, p, pillar.Request{ID: "web1", Grains: baseGrains()}), "t: Debian\ny: [2]")
	for _, id := range []string{"..", "../hosts/web1", ".", "", "/"} {
		got := compile(t, p, pillar.Request{ID: id, Grains: baseGrains()})
		if errs, _ := got.Value("_errors").([]any); got.Len() != 1 || len(errs) != 1 {
			t.Errorf("id %q: %s", id, data.Repr(got))
		}
	}
}

func TestFileTreeBelowPillarRoots(t *testing.T) {
	roots := write(t, t.TempDir(), data.NewMap("base", data.NewMap("tree/hosts/web1/f", "x\n")))
	opts := options(roots, data.NewMap("ext_pillar",
		[]any{data.NewMap("file_tree", data.NewMap("root_dir", "tree"))}))
	c := compiler(t, pillar.Options{Opts: opts, Sources: pillar.Sources()})
	same(t, compile(t, c, pillar.Request{ID: "web1", PillarEnv: "base"}), "f: !!binary eA==")
	same(t, compile(t, c, pillar.Request{ID: "web1"}), "{}")
}

func TestCSV(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts.csv")
	if err := os.WriteFile(file, []byte("db1\tx\ty\nweb1\t1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args *data.Map
		want string
	}{
		{data.NewMap("path", file, "dialect", "excel-tab", "fieldnames", []any{"id", "a", "b"}),
			"{id: web1, a: '1', b: null}"},
		{data.NewMap("path", file, "dialect", "excel-tab", "fieldnames", []any{"id", "a", "b"},
			"restval", "-"), "{id: web1, a: '1', b: '-'}"},
		{data.NewMap("path", file, "dialect", "excel-tab"),
			`_errors: ["Failed to load ext_pillar csv: 'id'"]`},
		{data.NewMap("path", file, "dialect", "excel-tab", "idkey", "x"), "{}"},
		{data.NewMap("idkey", "x"), `_errors: ["Failed to load ext_pillar csv: ext_pillar() missing 1 required positional argument: 'path'"]`},
	} {
		p := tree(t, data.NewMap(), data.NewMap("ext_pillar", []any{data.NewMap("csv", c.args)}))
		same(t, compile(t, p, pillar.Request{ID: "web1"}), c.want)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("id,a\nweb1,1\n", "excel")
	f.Add("id\ta\n\"web1\t1\n", "excel-tab")
	f.Add("\"\n", "other")
	f.Fuzz(func(t *testing.T, text, dialect string) {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		q := pillar.Query{ID: "web1", Argument: data.NewMap("path", file, "dialect", dialect)}
		row, err := pillar.CSV{}.Pillar(t.Context(), q)
		if err == nil && row.Len() > 0 && (!strings.Contains(text, "web1") || row.Value("id") != "web1") {
			t.Errorf("got %s", data.Repr(row))
		}
	})
}

func TestMinionsAreNotShownCommands(t *testing.T) {
	for _, name := range []string{"cmd_json", "cmd_yaml"} {
		got := externals(t, data.NewMap(), data.NewMap(name, "/no/such/program --token hunter2 %s"))
		if strings.Contains(data.Repr(got), "hunter2") || name == "cmd_json" && !got.Has("_errors") {
			t.Errorf("%s: %s", name, data.Repr(got))
		}
	}
}
