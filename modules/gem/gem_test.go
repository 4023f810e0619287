package gem_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/gem"
)

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{gem.Plugin()}})
}

// TestOperands checks that no argument reaches the program as an option or as several lines.
func TestOperands(t *testing.T) {
	shell := &replay.Shell{Answers: data.NewMap("gem --version",
		data.NewMap("retcode", int64(0), "stdout", "3.3.15", "stderr", ""))}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), gem.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fun  string
		args []any
		more *data.Map
	}{
		{"gem.install", []any{"--config-file=/tmp/x"}, nil},
		{"gem.install", []any{[]any{"rake\n-x"}}, nil},
		{"gem.install", []any{"rake"}, data.NewMap("version", "-x")},
		{"gem.install", []any{"rake"}, data.NewMap("proxy", "-x")},
		{"gem.install", []any{"rake"}, data.NewMap("source", "-x")},
		{"gem.uninstall", []any{"-a"}, nil},
		{"gem.update", []any{"rake --system"}, nil},
		{"gem.update_system", []any{"-x"}, nil},
		{"gem.list", []any{"-x"}, nil},
		{"gem.sources_add", []any{"-x"}, nil},
		{"gem.sources_remove", []any{"http://a\nhttp://b"}, nil},
	} {
		if got, err := r.Invoke(t.Context(), c.fun, c.args, c.more); err == nil {
			t.Errorf("%s %s returns %s", c.fun, data.Repr(c.args), data.Repr(got))
		}
	}
	if ran := data.Repr(shell.Ran); strings.Contains(ran, "-x") || ran != "[]" {
		t.Errorf("it ran %s", ran)
	}
}

// TestManagers checks which function of rvm and rbenv runs gem.
func TestManagers(t *testing.T) {
	for _, c := range []struct {
		manager string
		ruby    any
		want    string
	}{
		{"rvm", "2.7", "rvm.do ['2.7', ['gem', 'update', 'rake']] {'runas': 'bob'}"},
		{"rbenv", nil, "rbenv.do [['gem', 'update', 'rake']] {'runas': 'bob'}"},
		{"rbenv", "2.7", "rbenv.do_with_ruby ['2.7', ['gem', 'update', 'rake']] {'runas': 'bob'}"},
	} {
		f := &fake{name: c.manager}
		r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{f.plugin(), gem.Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := r.Invoke(t.Context(), "gem.update", []any{"rake"},
				data.NewMap("ruby", c.ruby, "runas", "bob"))
			if err != nil || got != "done" || f.called != c.want {
				t.Errorf("%s: %v, %v, called %s\nwant %s", c.manager, got, err, f.called, c.want)
			}
		}
	}
}
