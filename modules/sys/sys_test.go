package sys

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
)

type fibArgs struct{ Num any }

type pillarArgs struct {
	Name    any
	Present any `default:"None"`
	Verbose any `default:"False"`
}

func plugin(name, doc string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: funcs, Doc: doc}, nil
	}}
}

func fun[A any](name string) loader.Func {
	doc := "\n    Doc of " + name +
		".\n\n    CLI Example:\n\n    .. code-block:: bash\n\n        salt '*' x." + name + "\n    "
	return loader.F(name, func(context.Context, A) (any, error) { return true, nil }).Document(doc)
}

// registry returns the module sys with some modules, a registry of states and one of renderers.
func registry(t *testing.T) *loader.Registry {
	t.Helper()
	return registryWith(t, plugin("test", "\nAbout test.\n", fun[fibArgs]("nop"),
		fun[pillarArgs]("check_pillar")))
}

// registryWith is registry with another state module.
func registryWith(t *testing.T, state loader.Plugin) *loader.Registry {
	t.Helper()
	registry := func(plugins ...loader.Plugin) *loader.Registry {
		r, err := loader.NewRegistry(&loader.Env{}, plugins)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	states := registry(state, plugin("file", "", fun[fibArgs]("absent")))
	renderers := registry(plugin("yaml", "", fun[fibArgs]("render")),
		plugin("jinja", "", fun[fibArgs]("render")))
	env := &loader.Env{Registries: map[string]*loader.Registry{"states": states, "renderers": renderers}}
	r, err := loader.NewRegistry(env, []loader.Plugin{
		Plugin(), plugin("test", "", fun[fibArgs]("fib"), fun[loader.NoArgs]("ping")),
		plugin("sysctl", "", fun[fibArgs]("get")), plugin("telegram", "", fun[loader.NoArgs]("f")),
		plugin("telemetry", "", fun[loader.NoArgs]("f")), plugin("temp", "", fun[loader.NoArgs]("f")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVectorSys(t *testing.T) {
	ran := 0
	for _, c := range vectors.Load(t, "10-cli.json").Section("modules") {
		argv := c.List("argv")
		name, _ := argv[1].(string)
		if !strings.HasPrefix(name, "sys.") {
			continue // of another module
		}
		ran++
		t.Run(name, func(t *testing.T) { checkPrinted(t, c.On(t), name, argv[2:]) })
	}
	if ran == 0 {
		t.Error("found no case of sys")
	}
}

// saltsTestState returns a state module with the functions of Salt's states.test.
func saltsTestState() loader.Plugin {
	var funcs []loader.Func
	for _, name := range strings.Fields(`succeed_without_changes succeed_with_changes fail_without_changes fail_with_changes nop
		configurable_test_state show_notification mod_watch check_pillar`) {
		funcs = append(funcs, fun[fibArgs](name))
	}
	return plugin("test", "", funcs...)
}

func checkPrinted(t *testing.T, c *vectors.Case, name string, argv []any) {
	c.Only("program", "argv", "exit_code", "stdout", "stderr", "volatile", "seq")
	choice := output.Choice{Fun: name}
	var words []string
	for _, a := range argv {
		if out, ok := strings.CutPrefix(a.(string), "--out="); ok {
			choice.Forced = out
			continue
		}
		words = append(words, a.(string))
	}
	res := registryWith(t, saltsTestState()).Call(t.Context(), name, loader.WireArgs(words),
		loader.CallOptions{})
	got, err := output.Printout(choice, data.NewMap("web1", res.Value),
		output.Options{Indent: output.NoIndent{}})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimRight(c.Text("stdout"), "\n ")
	if name == "sys.doc" { // printed without the minion's name; our texts differ from Salt's
		got, want = data.Repr(res.Value),
			`{'test.ping': "\n    Doc of ping.\n\n    CLI Example:\n\n        salt '*' x.ping\n    "}`
	}
	if got != want {
		t.Errorf("%s %q prints\n%s\nwant\n%s", name, words, got, want)
	}
}

func TestValues(t *testing.T) {
	schema := `[{'$schema': 'http://json-schema.org/draft-04/schema#', 'title': 'test.check_pillar', 'description': 'test.check_pillar', ` +
		`'type': 'object', 'properties': {` + property("name", "") + ", " + property("present", "") + ", " +
		property("verbose", ", 'default': False") +
		`}, 'x-ordering': ['name', 'present', 'verbose'], 'additionalProperties': False}]`
	tests := []struct{ fun, arg, want string }{
		{"sys.list_functions", "sysctl", "['sysctl.get']"},
		{"sys.list_functions", "sys.list_r* test nosuch a=1",
			"['sys.list_renderers', 'sys.list_returner_functions', 'sys.list_returners', 'sys.list_runner_functions', 'sys.list_runners', 'test.fib', 'test.ping']"},
		{"sys.list_modules", "", "['sys', 'sysctl', 'telegram', 'telemetry', 'temp', 'test']"},
		{"sys.list_modules", "test t?st nosuch", "['test']"},
		{"sys.list_state_functions", "test", "['test.check_pillar', 'test.nop']"},
		{"sys.list_state_functions", "", "['file.absent', 'test.check_pillar', 'test.nop']"},
		{"sys.list_state_modules", "t*", "['test']"},
		{"sys.list_runners", "", "[]"},
		{"sys.list_runner_functions", "x", "[]"},
		{"sys.list_returners", "l*", "[]"},
		{"sys.list_returner_functions", "", "[]"},
		{"sys.list_renderers", "", "['jinja', 'yaml']"},
		{"sys.list_renderers", "ya*", "['yaml']"},
		{"sys.argspec", "", "{}"},
		{"sys.argspec", "sys.argspec",
			"{'sys.argspec': {'args': ['module'], 'defaults': ('',), 'varargs': None, 'kwargs': None}}"},
		{"sys.argspec", "sys.reload_*",
			"{'sys.reload_modules': {'args': ['initial_load', 'context'], 'defaults': (False, None), 'varargs': None, 'kwargs': None}}"},
		{"sys.argspec", "sysctl", "{'sysctl.get': {'args': ['num'], 'defaults': None, 'varargs': None, 'kwargs': None}}"},
		{"sys.state_argspec", "file", "{'file.absent': {'args': ['num'], 'defaults': None, 'varargs': None, 'kwargs': None}}"},
		{"sys.runner_argspec", "x", "{}"},
		{"sys.returner_argspec", "*", "{}"},
		{"sys.doc", "nosuch", "{}"},
		{"sys.doc", "sysctl. test.fib", "{'sysctl.get': " + docOf("get") + ", 'test.fib': " +
			docOf("fib") + "}"},
		{"sys.state_doc", "test.nop", `{'test': '\nAbout test.\n', 'test.nop': ` + docOf("nop") + "}"},
		{"sys.state_doc", "file.*", `{'file': None, 'file.absent': ` + docOf("absent") + "}"},
		{"sys.runner_doc", "", "{}"},
		{"sys.returner_doc", "l*", "{}"},
		{"sys.renderer_doc", "yaml", "{}"},
		{"sys.renderer_doc", "y*", "{'yaml': " + docOf("render") + "}"},
		{"sys.reload_modules", "", "None"},
		{"sys.state_schema", "test.check_pillar", schema},
	}
	for _, tt := range tests {
		t.Run(tt.fun+" "+tt.arg, func(t *testing.T) {
			res := registry(t).Call(t.Context(), tt.fun, loader.WireArgs(strings.Fields(tt.arg)),
				loader.CallOptions{})
			if got := data.Repr(res.Value); got != tt.want || !res.Success {
				t.Errorf("gives %s\nwant  %s", got, tt.want)
			}
		})
	}
}

func docOf(name string) string {
	return data.Repr("\n    Doc of " + name + ".\n\n    CLI Example:\n\n        salt '*' x." +
		name + "\n    ")
}

// property returns the part of a schema for one parameter.
func property(name, end string) string {
	var kinds []string
	for _, kind := range []string{"boolean", "integer", "number", "string"} {
		kinds = append(kinds, "{'type': '"+kind+"', 'title': '"+name+"', 'description': '"+name+"'"+end+"}")
	}
	return "'" + name + "': {'oneOf': [" + strings.Join(kinds, ", ") + "]}"
}

func TestWordsMustBeText(t *testing.T) {
	r := registry(t)
	for _, fun := range r.Select("sys") {
		if fun == "sys.reload_modules" {
			continue
		}
		res := r.Call(t.Context(), fun, []any{int64(5)}, loader.CallOptions{})
		want := "Passed invalid arguments to " + fun + ": argument of type 'int' is not iterable\n"
		if text, _ := res.Value.(string); !strings.HasPrefix(text, want) {
			t.Errorf("%s 5 gives %v, want %s", fun, res.Value, want)
		}
	}
}

func TestReloadModulesRebuilds(t *testing.T) {
	built := 0
	counted := loader.Plugin{Name: "m", New: func(*loader.Env) (*loader.Module, error) {
		built++
		return &loader.Module{Funcs: []loader.Func{fun[loader.NoArgs]("f")}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(), counted})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.Has("m.f")
		if res := r.Call(t.Context(), "sys.reload_modules", nil, loader.CallOptions{}); !res.Success {
			t.Fatalf("sys.reload_modules gives %+v", res)
		}
	}
	if r.Has("m.f"); built != 3 {
		t.Errorf("m was built %d times, want 3", built)
	}
}
