package rvm_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/rvm"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/rvm"
)

func shelf(t *testing.T, root string) *runs.Shelf {
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Root: root}
	return runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(),
		module.Plugin()}, state.Plugin())
}

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode and real
// runs. Test mode says the truth of what is there already. Then it makes a version the default.
func TestRuns(t *testing.T) {
	root := runs.Programs(t)
	states := shelf(t, root)
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	got := states.Run(t, true, "rvm.installed", "ruby-2.0.0", nil)
	if got.Value("result") != true || got.Text("comment") != "Requested ruby exists." {
		t.Errorf("test mode: %s", data.Repr(got))
	}
	changes := data.NewMap("default", "2.0.0-p648")
	for i, want := range []*data.Map{{}, changes, {}, {}} {
		got := states.Run(t, i == 0 || i == 3, "rvm.installed", "2.0.0-p648", data.NewMap("default", true))
		if (got.Value("result") == nil) != (i == 0) || !data.Equal(got.Value("changes"), want) {
			t.Errorf("run %d with another default: %s", i, data.Repr(got))
		}
	}
	got = states.Run(t, false, "rvm.installed", "ruby-3.3.4", data.NewMap("opts", []any{"--patch"}))
	if got.Value("result") != true || !data.Equal(got.Value("changes"), data.NewMap("ruby-3.3.4", "Installed")) {
		t.Errorf("with options: %s", data.Repr(got))
	}
}

// A version is another one by its patch level only if the state names one.
func TestVersions(t *testing.T) {
	root := runs.Programs(t)
	if err := os.MkdirAll(filepath.Join(root, "usr/local/rvm/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("testdata/bin/rvm")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "usr/local/rvm/bin")
	for name, text := range map[string]string{"rvm": string(program),
		"list": "ruby-1.9.3-p551\nrbx-2.2.5-2014.01\njruby-9.4.8.0\n", "default": "jruby-9.4.8.0"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := shelf(t, root)
	for name, want := range map[string]any{"1.9.3": true, "ruby-1.9.3-p551": true, "1.9.3-p1": nil,
		"rbx-2.2.5": true, "jruby": true, "rbx": true, "ruby": nil, "jruby-9.4.8.0": true, "9.4.8.0": nil} {
		if got := states.Run(t, true, "rvm.installed", name, nil); got.Value("result") != want {
			t.Errorf("%s: %s", name, data.Repr(got))
		}
	}
}

// Of several versions that match, it is enough if one is the default, wherever it stands in the list.
func TestSeveralMatches(t *testing.T) {
	root := runs.Programs(t)
	program, err := os.ReadFile("testdata/bin/rvm")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "usr/local/rvm/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"rvm": string(program),
		"list":    "ruby-1.9.3-p100\njruby-9.4.8.0\nruby-1.9.3-p551\nruby-1.9.3-p552\n",
		"default": "ruby-1.9.3-p551\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := shelf(t, root)
	for i, test := range []bool{true, false, false, true} {
		got := states.Run(t, test, "rvm.installed", "1.9.3", data.NewMap("default", true))
		changes, _ := got.Value("changes").(*data.Map)
		if got.Value("result") != true || changes.Len() > 0 || got.Value("default") != true {
			t.Errorf("run %d with one of them as the default: %s", i, data.Repr(got))
		}
	}
	got := states.Run(t, true, "rvm.installed", "jruby", data.NewMap("default", true))
	if got.Value("result") != nil || got.Text("comment") != "Ruby jruby is set to be the default" {
		t.Errorf("another default: %s", data.Repr(got))
	}
}
