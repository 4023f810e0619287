package pillar_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/pillar"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/yaml"
)

// later lists the cases that need more than this package.
var later = map[string]string{}

// baseGrains are those of the vectors' README.
func baseGrains() *data.Map {
	return data.NewMap("id", "web1", "os", "Debian", "os_family", "Debian", "osrelease", "12",
		"osmajorrelease", int64(12), "fqdn", "web1.example.net", "ipv4", []any{"10.1.2.3",
			"127.0.0.1"}, "ipv6", []any{"::1", "fd00::3"},
		"roles", []any{"web", "cache"}, "datacenter", "ams1")
}

// engines makes the engine of a compilation; templates have the functions of module pillar.
func engines(s pillar.Scope) (*render.Engine, error) {
	plugins := []loader.Plugin{module.Plugin(render.Brought{Renderers: stdrender.Renderers()})}
	return pillar.Engines(loader.Env{}, plugins, stdrender.Renderers())(s)
}

// write creates environments below a directory and returns pillar_roots.
func write(t testing.TB, dir string, files *data.Map) *data.Map {
	t.Helper()
	roots := data.NewMap("base", []any{filepath.Join(dir, "base")})
	for env, tree := range files.All() {
		root := filepath.Join(dir, env.(string))
		roots.Set(env, []any{root})
		for name, text := range tree.(*data.Map).All() {
			at := filepath.Join(root, name.(string))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text.(string)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return roots
}

// options are those of the vectors' masterless minion.
func options(roots, more *data.Map) *data.Map {
	opts := data.NewMap("id", "web1", "file_client", "local", "pillar_roots", roots, "state_top",
		"top.sls", "renderer", "jinja|yaml", "ssh_merge_pillar", true, "pillar_safe_render_error", true)
	opts.Update(more)
	return opts
}

func compiler(t testing.TB, o pillar.Options) *pillar.Compiler {
	t.Helper()
	if o.Engine == nil {
		o.Engine = engines
	}
	c, err := pillar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func compile(t testing.TB, c *pillar.Compiler, r pillar.Request) *data.Map {
	t.Helper()
	got, err := c.Compile(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestVectorPillar compiles the pillars of the cases of pillar.items. As in salt-call, the pillar
// is compiled at the start, and again for the function. Other functions of module pillar use the
// one compiled at the start; those of module state belong to package state.
func TestVectorPillar(t *testing.T) {
	cases := vectors.Cases(t, vectors.Load(t, "states/pillar.json").List)
	steps := 0
	for _, c := range cases {
		id := c.Text("id")
		if why, waits := later[id]; waits {
			t.Logf("%s is not run: %s", id, why)
			continue
		}
		t.Run(id, func(t *testing.T) { steps += checkCase(t, c.On(t)) })
	}
	if len(cases) < 34 || steps < 43 {
		t.Errorf("%d cases and %d steps, want 34 and 43 or more", len(cases), steps)
	}
}

func checkCase(t *testing.T, c *vectors.Case) (steps int) {
	c.Only("id", "group", "config", "files", "pillar_files", "steps")
	config, _ := c.Map.Value("config").(*data.Map)
	p := compiler(t, pillar.Options{Opts: options(write(t, t.TempDir(), c.Object("pillar_files")), config)})
	start := pillar.Request{ID: "web1", Grains: baseGrains()}
	start.Known = compile(t, p, start)
	for _, step := range c.Sub("steps") {
		step = step.On(t)
		argv, want := step.List("argv"), step.Object("expect").Value("return")
		switch {
		case argv[0] == "pillar.items":
			steps++
			if got := compile(t, p, request(t, start, argv[1:])); !data.Equal(textKeys(got), want) {
				t.Errorf("%s\ngot  %s\nwant %s", data.Repr(argv), data.Repr(got), data.Repr(want))
			}
		case strings.HasPrefix(argv[0].(string), "pillar."):
			steps++
			if got := call(t, p, start, argv); !data.Equal(textKeys(got), want) {
				t.Errorf("%s\ngot  %s\nwant %s", data.Repr(argv), data.Repr(got), data.Repr(want))
			}
		case c.Text("id") == "pil-order-preserved":
			steps++
			ordered, err := pyjson.Load(want.(string))
			if err != nil || data.Repr(start.Known) != data.Repr(ordered) {
				t.Errorf("got %s, %v, want %s", data.Repr(start.Known), err, want)
			}
		}
	}
	return steps
}

// call runs a function of module pillar, which compiles with p, as salt-call does.
func call(t *testing.T, p *pillar.Compiler, start pillar.Request, argv []any) any {
	t.Helper()
	env := &loader.Env{Opts: p.Opts, Grains: func() *data.Map { return start.Grains },
		Pillar: func() *data.Map { return start.Known }}
	env.Host.CompilePillar = func(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
		r := start
		r.PillarEnv, r.Override = q.PillarEnv, q.Override
		return p.Compile(ctx, r)
	}
	reg, err := loader.NewRegistry(env,
		[]loader.Plugin{module.Plugin(render.Brought{Renderers: stdrender.Renderers()})})
	if err != nil {
		t.Fatal(err)
	}
	args := make([]string, len(argv)-1)
	for i, a := range argv[1:] {
		args[i] = a.(string)
	}
	return reg.Call(t.Context(), argv[0].(string), loader.WireArgs(args), loader.CallOptions{}).Value
}

// request adds the arguments of a command line.
func request(t *testing.T, r pillar.Request, args []any) pillar.Request {
	for _, arg := range args {
		switch name, value, _ := strings.Cut(arg.(string), "="); name {
		case "pillarenv":
			r.PillarEnv = value
		case "pillar":
			v, err := yaml.Load([]byte(value), yaml.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.Override = v.(*data.Map)
		default:
			t.Fatalf("argument %s is not known", arg)
		}
	}
	return r
}

// textKeys converts the keys to text, as in JSON.
func textKeys(v any) any {
	switch v := v.(type) {
	case *data.Map:
		out := data.NewMap()
		for k, x := range v.All() {
			out.Set(data.Str(k), textKeys(x))
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, textKeys(x))
		}
		return out
	}
	return v
}
