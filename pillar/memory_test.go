package pillar_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/grains"
	modtest "github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/pillar"
	stdrender "github.com/brineproject/brine/render/standard"
)

// A keeping is a caching compiler over one directory whose files are old enough to be trusted.
type keeping struct {
	*pillar.Compiler
	t    *testing.T
	dir  string
	hook *logtest.Hook
}

func keep(t *testing.T, room int, more *data.Map, files ...any) *keeping {
	t.Helper()
	k := &keeping{t: t, dir: t.TempDir()}
	roots := write(t, k.dir, data.NewMap("base", data.NewMap(files...)))
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	k.hook = hook
	o := options(roots, more)
	o.Delete("ssh_merge_pillar")
	k.Compiler = compiler(t, pillar.Options{Opts: o, Keep: room, Log: log,
		Engine: pillar.Engines(loader.Env{}, []loader.Plugin{grains.Plugin(), modtest.Plugin()},
			stdrender.Renderers())})
	k.Trust(true)
	return k
}

func (k *keeping) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, "base", name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// want compiles, and checks the result and whether it was compiled again.
func (k *keeping) want(what string, r pillar.Request, want string, again bool) {
	k.t.Helper()
	k.hook.Reset()
	got := compile(k.t, k.Compiler, r)
	if data.Repr(got) != want {
		k.t.Errorf("%s: got %s, want %s", what, data.Repr(got), want)
	}
	anew := false
	for _, e := range k.hook.AllEntries() {
		anew = anew || strings.Contains(e.Message, ": SLS ")
	}
	if anew != again {
		k.t.Errorf("%s: compiled anew: %v, want %v", what, anew, again)
	}
}

func asks(id string, pairs ...any) pillar.Request {
	return pillar.Request{ID: id, SaltEnv: "base", Grains: data.NewMap(append([]any{"id", id}, pairs...)...)}
}

func TestWhatHasNotChangedIsNotCompiledAgain(t *testing.T) {
	t.Parallel()
	k := keep(t, 1<<20, nil, "top.sls", "base:\n  '*': [a]\n  'G@os:X': [b]\n", "a.sls",
		"{% import_yaml 'map.yaml' as m %}a: {{ grains.get('id') }} {{ m.x }} {{ salt['grains.get']('os') }}\n",
		"map.yaml", "x: 1", "b.sls", "b: 2\n")
	web1, web2 := asks("web1", "os", "X"), asks("web2", "os", "Y")
	both := "{'a': 'web1 1 X', 'b': 2}"
	k.want("the first time", web1, both, true)
	k.want("the second time", web1, both, false)
	k.want("another minion", web2, "{'a': 'web2 1 Y'}", true)
	k.want("other grains", asks("web1", "os", "Z"), "{'a': 'web1 1 Z'}", true)
	k.want("grains of before", web1, both, false)
	over := web1
	over.Override = data.NewMap("c", int64(3))
	k.want("pillar= of a command line", over, "{'c': 3, 'a': 'web1 1 X', 'b': 2}", true)
	over.Override = data.NewMap("c", int64(4))
	k.want("another pillar=", over, "{'c': 4, 'a': 'web1 1 X', 'b': 2}", true)

	k.Trust(false)
	k.write("map.yaml", "x: 5")
	k.want("a file that is imported has changed", web1, "{'a': 'web1 5 X', 'b': 2}", true)
	k.write("map.yaml", "x: 6") // of the same size, maybe at the same time
	k.want("it has changed again at once", web1, "{'a': 'web1 6 X', 'b': 2}", true)
	k.want("its times are not trusted yet", web1, "{'a': 'web1 6 X', 'b': 2}", true)
	k.Trust(true)
	k.want("they are", web1, "{'a': 'web1 6 X', 'b': 2}", true)
	k.want("and it has not changed since", web1, "{'a': 'web1 6 X', 'b': 2}", false)
	before, err := os.Stat(filepath.Join(k.dir, "base/map.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	k.Trust(false)
	k.write("map.yaml", "x: 7")
	if err := os.Chtimes(filepath.Join(k.dir, "base/map.yaml"), before.ModTime(),
		before.ModTime()); err != nil {
		t.Fatal(err)
	}
	k.want("a change with the time of before", web1, "{'a': 'web1 7 X', 'b': 2}", true)
	k.Trust(true)
	k.want("all is old", web1, "{'a': 'web1 7 X', 'b': 2}", true)
}

func TestFilesThatComeAndGoAreSeen(t *testing.T) {
	t.Parallel()
	k := keep(t, 1<<20, nil, "top.sls", "base:\n  '*': ['s*']\n", "s1.sls", "a: 1\n")
	k.want("first", asks("web1"), "{'a': 1}", true)
	k.want("second", asks("web1"), "{'a': 1}", false)
	k.write("s2.sls", "b: 2\n")
	k.want("a file that a glob names has come", asks("web1"), "{'a': 1, 'b': 2}", true)
	if err := os.Remove(filepath.Join(k.dir, "base/s2.sls")); err != nil {
		t.Fatal(err)
	}
	k.want("it has gone", asks("web1"), "{'a': 1}", true)
	k.write("unrelated.txt", "x")
	k.want("a file that nobody names has come", asks("web1"), "{'a': 1}", true)
}

func TestWhatComesFromElsewhereIsCompiledEachTime(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a function":       "a: {{ salt['test.echo']('x') }}",
		"chance":           "a: {{ ['x'] | random }}",
		"the clock":        "a: {{ 'x' if none | strftime else '' }}",
		"an error":         "a: x\ninclude: 5",
		"another renderer": "#!yaml|gpg\na: x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keep(t, 1<<20, nil, "top.sls", "base:\n  '*': [a]\n", "a.sls", text)
			first := data.Repr(compile(t, k.Compiler, asks("web1")))
			if !strings.HasPrefix(first, "{'a': 'x'") {
				t.Fatal(first)
			}
			k.want("again", asks("web1"), first, true)
		})
	}
}

func TestExternalPillarsAreAskedEachTime(t *testing.T) {
	t.Parallel()
	k := keep(t, 1<<20, data.NewMap("ext_pillar", []any{data.NewMap("nodegroups", nil)}), "top.sls",
		"base:\n  '*': [a]\n", "a.sls", "a: 1")
	asked := 0
	k.Compiler = compiler(t, pillar.Options{Opts: k.Opts, Keep: 1 << 20, Log: k.Log,
		Engine: k.Engine, Sources: []pillar.Source{counting{"nodegroups", &asked}}})
	k.Trust(true)
	k.want("first", asks("web1"), "{'a': 1, 'n': 1}", true)
	k.want("second", asks("web1"), "{'a': 1, 'n': 2}", false)
}

func TestOldPillarsMakeRoom(t *testing.T) {
	t.Parallel()
	k := keep(t, 1400, nil, "top.sls", "base:\n  '*': [a]\n", "a.sls", "a: {{ grains.id }}")
	k.want("first", asks("web1"), "{'a': 'web1'}", true)
	k.want("another", asks("web2"), "{'a': 'web2'}", true)
	k.want("both have room", asks("web1"), "{'a': 'web1'}", false)
	k.want("a third", asks("web3"), "{'a': 'web3'}", true)
	k.want("the one asked for last is there", asks("web1"), "{'a': 'web1'}", false)
	k.want("the other has gone", asks("web2"), "{'a': 'web2'}", true)
}

// Templates change copies: no other compilation sees changes of options or grains.
func TestTemplateChangesAreLocal(t *testing.T) {
	t.Parallel()
	k := keep(t, 1<<20, data.NewMap("custom", data.NewMap("deep", []any{"x"})), "top.sls",
		"base:\n  '*': [a]\n", "a.sls",
		"{% do opts.custom.deep.append('y') %}{% do grains.update({'new': 1}) %}{% do grains.l.append(1) %}a: {{ opts.custom.deep | length }}{{ grains.l | length }}")
	r := asks("web1", "l", []any{})
	for range 2 {
		if got := compile(t, k.Compiler, r); data.Repr(got) != "{'a': 21}" {
			t.Errorf("got %s", data.Repr(got))
		}
	}
}

func TestConcurrentRequestsShareOneCompilation(t *testing.T) {
	t.Parallel()
	k := keep(t, 1<<20, nil, "top.sls", "base:\n  '*': [a]\n", "a.sls",
		"a: {{ range(20000) | list | length }}")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := k.Compile(t.Context(), asks("web1")); err != nil ||
				data.Repr(got) != "{'a': 20000}" {
				t.Errorf("got %s, %v", data.Repr(got), err)
			}
		})
	}
	all.Wait()
	n := 0
	for _, e := range k.hook.AllEntries() {
		if strings.Contains(e.Message, ": SLS ") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("compiled %d times", n)
	}
}

// A counting source counts its calls.
type counting struct {
	name  string
	asked *int
}

func (c counting) Name() string { return c.name }

func (c counting) Pillar(context.Context, pillar.Query) (*data.Map, error) {
	*c.asked++
	return data.NewMap("n", int64(*c.asked)), nil
}

type againArgs struct{}

// TestTemplatesThatCompileTheirOwnPillar end with an error, and wait neither for themselves nor
// forever.
func TestTemplatesThatCompileTheirOwnPillar(t *testing.T) {
	var c *pillar.Compiler
	times := 0
	again := loader.Plugin{Name: "again", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("now",
			func(ctx context.Context, _ againArgs) (any, error) {
				times++
				return c.Compile(ctx, asks("web1"))
			})}}, nil
	}}
	roots := write(t, t.TempDir(),
		data.NewMap("base", data.NewMap("top.sls", "base: {'*': [a]}", "a.sls",
			"a: {{ salt['again.now']() | length }}")))
	c = compiler(t, pillar.Options{Opts: options(roots, data.NewMap("ssh_merge_pillar", false)),
		Keep:   1 << 20,
		Engine: pillar.Engines(loader.Env{}, []loader.Plugin{again}, stdrender.Renderers())})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := c.Compile(ctx, asks("web1"))
	if err != nil || times != 8 || !got.Has("a") {
		t.Errorf("%s, %v, after %d", data.Repr(got), err, times)
	}
}
