package tops_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/tops"
	"github.com/brineproject/brine/yaml"
)

// program writes a shell script and returns its path.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nodes")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// topOf returns the result of an option for web1, and the log at warnings and above.
func topOf(t *testing.T, config *data.Map, sources ...tops.Source) (*data.Map, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	made, err := tops.New(tops.Options{Config: config, Sources: append(tops.Sources(), sources...), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	got := made.Top(t.Context(), tops.Minion{ID: "web1", Grains: data.NewMap("os", "Debian")})
	var lines []string
	for _, e := range told.AllEntries() {
		if e.Level <= logrus.WarnLevel {
			lines = append(lines, e.Message)
		}
	}
	return got, strings.Join(lines, "\n")
}

func same(t *testing.T, got any, want string) {
	t.Helper()
	v, err := yaml.Load([]byte(want), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data.Repr(got) != data.Repr(v) {
		t.Errorf("got  %s\nwant %s", data.Repr(got), data.Repr(v))
	}
}

func TestExtNodes(t *testing.T) {
	for _, c := range []struct{ name, script, want, log string }{
		{"list", `echo "classes: [a, $1]"`, "base: [a, web1]", ""},
		{"dictionary", "echo '{environment: prod, classes: {b: {x: 1}, a: }}'", "prod: [b, a]", ""},
		{"text", "echo '{classes: a}'", "{}", ""},
		{"no classes", "echo '{parameters: {}}'", "{}", ""},
		{"nothing", "true", "{}", ""},
		{"a list at the top", "echo '[a]'", "{}", "not a dictionary"},
		{"not YAML", "echo '{'", "{}", "parse the program's output"},
		{"fails", "echo '{classes: [a]}'; exit 3", "{}", "exit status 3"},
		{"without end", "exec yes", "{}", "prints more than 8388608 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, log := topOf(t, data.NewMap("ext_nodes", program(t, c.script)))
			same(t, got, c.want)
			if !strings.Contains(log, c.log) || c.log == "" && log != "" {
				t.Errorf("log %q, want %q", log, c.log)
			}
			if log != "" && !strings.HasPrefix(log, "Top function ext_nodes.top failed with error ") {
				t.Errorf("log %q", log)
			}
		})
	}
}

func TestExtNodesGetsItsWordsAndNoShell(t *testing.T) {
	path := program(t, `printf 'classes: ["%s", "%s", %s]' "$1" "$2" $#`)
	got, log := topOf(t, data.NewMap("ext_nodes", path+` 'a b' $HOME;`))
	same(t, got, `base: [a b, "$HOME;", 3]`)
	if log != "" {
		t.Error(log)
	}
}

func TestExtNodesRejectsIDLikeOption(t *testing.T) {
	log, _ := logtest.NewNullLogger()
	for id, ok := range map[string]bool{"web-1": true, "-h": false, "--version": false} {
		got, err := tops.Nodes{}.Top(t.Context(),
			tops.Query{Minion: tops.Minion{ID: id}, Config: program(t, `echo "classes: [a]"`), Log: log})
		if ok != (err == nil) || ok != (got.Len() == 1) ||
			err != nil && !strings.Contains(err.Error(), "option") {
			t.Errorf("%s: %s, %v", id, data.Repr(got), err)
		}
	}
}

func TestSaltClass(t *testing.T) {
	tree := filepath.Join("..", "pillar", "saltclass", "testdata", "tree")
	got, _ := topOf(t, data.NewMap("saltclass", data.NewMap("path", tree)))
	same(t, got, "base: [users, openssh, common, db, web, common, deb, node]")
}

// fixed is a system that always returns the same.
type fixed struct {
	name string
	top  *data.Map
	err  error
}

func (f fixed) Name() string  { return f.name }
func (fixed) Check(any) error { return nil }
func (f fixed) Top(context.Context, tops.Query) (*data.Map, error) {
	return f.top, f.err
}

func TestSystemsAreMergedInTheOrderOfTheOption(t *testing.T) {
	one := fixed{"one", data.NewMap("base", []any{"a", "b"}, "prod", []any{"x"}), nil}
	two := fixed{"two", data.NewMap("base", []any{"b", "c"}), nil}
	bad := fixed{"bad", nil, errors.New("broken")}
	got, log := topOf(t, data.NewMap("two", nil, "bad", nil, "one", nil), one, two, bad)
	same(t, got, "{base: [b, c, a], prod: [x]}")
	if log != "Top function bad.top failed with error broken for minion web1" {
		t.Error(log)
	}
}

func TestOptionsAreCheckedAtTheStart(t *testing.T) {
	for _, c := range []struct {
		config  any
		want    string
		unknown bool
	}{
		{nil, "", false},
		{data.NewMap(), "", false},
		{[]any{"ext_nodes"}, "master_tops: expected a dictionary", false},
		{data.NewMap("ext_nodes", data.NewMap()), "master_tops: ext_nodes: a command is", false},
		{data.NewMap("ext_nodes", "/bin/true"), "", false},
		{data.NewMap("saltclass", "/srv"), "master_tops: saltclass: expected path: DIRECTORY", false},
		{data.NewMap("saltclass", data.NewMap("path", int64(1))),
			"master_tops: saltclass: path: expected a directory", false},
		{data.NewMap("mongo", nil), "master_tops: mongo: unknown system", true},
		{data.NewMap("reclass", nil), "master_tops: reclass: expected a dictionary", false},
		{data.NewMap("varstack", "a.yaml"), "master_tops: varstack: expected the path of a file", false},
	} {
		made, err := tops.New(tops.Options{Config: c.config, Sources: tops.Sources()})
		switch {
		case c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", data.Repr(c.config), err, c.want)
		case errors.Is(err, tops.ErrUnknown) != c.unknown:
			t.Errorf("%s: %v wraps ErrUnknown: %v", data.Repr(c.config), err, !c.unknown)
		}
		if (err == nil || c.unknown) && made.Top(t.Context(), tops.Minion{ID: "x"}).Len() != 0 {
			t.Errorf("%s: states from nowhere", data.Repr(c.config))
		}
	}
}

// crowd counts concurrent requests.
type crowd struct{ now, most *atomic.Int32 }

func (crowd) Name() string    { return "crowd" }
func (crowd) Check(any) error { return nil }
func (c crowd) Top(context.Context, tops.Query) (*data.Map, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	time.Sleep(time.Second) // in the bubble
	return data.NewMap("base", []any{"a"}), nil
}

func TestManyMinionsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd{&atomic.Int32{}, &atomic.Int32{}}
		made, err := tops.New(tops.Options{Config: data.NewMap("crowd", nil), Sources: []tops.Source{c}})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() { same(t, made.Top(t.Context(), tops.Minion{ID: "web1"}), "base: [a]") })
		}
		all.Wait()
		if n := c.most.Load(); n > 16 {
			t.Errorf("%d were asked for at once", n)
		}
	})
}
