package states

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/runner"
)

// A bench is a masterless minion whose states run through the runner, as in the real minion.
type bench struct {
	opts, grains, pillar *data.Map
	functions            *loader.Registry
}

func newHost(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := &bench{
		opts: data.NewMap("id", "web1", "local", true, "file_client", "local",
			"cachedir", filepath.Join(dir, "cache"), "config_dir", dir,
			"conf_file", filepath.Join(dir, "minion"), "default_include", "minion.d/*.conf", "test",
			false, "failhard", false),
		grains: data.NewMap("shell", "/bin/sh", "roles", []any{"web"}), pillar: data.NewMap("k",
			"v", "i", int64(5)),
	}
	log := logging.Discard()
	env := &loader.Env{Opts: h.opts, Log: log, Grains: func() *data.Map { return h.grains },
		Pillar: func() *data.Map { return h.pillar }}
	var err error
	if h.functions, err = loader.NewRegistry(env, modules.Plugins(modules.Brought())); err != nil {
		t.Fatal(err)
	}
	return h
}

// run runs one state and returns its result.
func (h *bench) run(t *testing.T, test bool, fun string, args *data.Map) *data.Map {
	t.Helper()
	env := *h.functions.Env()
	env.Opts = env.Opts.Clone()
	env.Opts.Set("test", test)
	shelf, err := loader.NewRegistry(&env, Plugins())
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{Env: shelf.Env(), States: shelf})
	if err != nil {
		t.Fatal(err)
	}
	kind, name, _ := strings.Cut(fun, ".")
	low := state.Chunk{Map: data.NewMap("name", "id", "state", kind, "fun", name, "__id__", "id",
		"__sls__", "a", "__env__", "base")}
	low.Update(args)
	ret, err := r.Call(t.Context(), low)
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return ret
}

// A step is the expected outcome of a state: its result, whether it changed anything, and its
// comment.
type step struct {
	result  any
	changes bool
	comment string
}

func (h *bench) check(t *testing.T, test bool, fun string, args *data.Map, want step) {
	t.Helper()
	ret := h.run(t, test, fun, args)
	if ret.Value("result") != want.result || data.Truth(ret.Value("changes")) != want.changes ||
		ret.Value("comment") != want.comment {
		t.Errorf("%s, test mode %v: got %s, want %v", fun, test, data.Repr(ret), want)
	}
}

// converges runs a state in test mode, twice for real and in test mode again.
func (h *bench) converges(t *testing.T, fun string, args *data.Map, would, done, same string) {
	t.Helper()
	h.check(t, true, fun, args, step{nil, true, would})
	h.check(t, false, fun, args, step{true, true, done})
	h.check(t, false, fun, args, step{true, false, same})
	h.check(t, true, fun, args, step{true, false, same})
}

func TestGrains(t *testing.T) {
	h := newHost(t)
	h.converges(t, "grains.present", data.NewMap("name", "cheese", "value", "edam"),
		"Grain cheese is set to be added", "Set grain cheese to edam", "Grain is already set")
	h.converges(t, "grains.present", data.NewMap("name", "cheese", "value", "gouda"),
		"Grain cheese is set to be changed", "Set grain cheese to gouda", "Grain is already set")
	h.check(t, false, "grains.exists", data.NewMap("name", "cheese"), step{true, false, "Grain exists"})
	h.converges(t, "grains.list_present", data.NewMap("name", "roles", "value", []any{"web", "db"}),
		"Value ['web', 'db'] is set to be appended to grain roles",
		"Append value ['web', 'db'] to grain roles", "Value ['web', 'db'] is already in grain roles")
	h.converges(t, "grains.append", data.NewMap("name", "roles", "value", "mail"),
		"Value mail in grain roles is set to be added", "Value mail was added to grain roles",
		"Value mail is already in the list for grain roles")
	h.converges(t, "grains.append", data.NewMap("name", "cheese", "value", "brie", "convert", true),
		"Grain cheese is set to be converted to list and value brie will be added",
		"Value brie was added to grain cheese",
		"Value brie is already in the list for grain cheese")
	h.converges(t, "grains.list_absent", data.NewMap("name", "roles", "value", "db"),
		"Value db in grain roles is set to be deleted", "Value db was deleted from grain roles",
		"Value db is absent from grain roles")
	h.converges(t, "grains.absent", data.NewMap("name", "cheese", "destructive", true, "force", true),
		"Grain cheese is set to be deleted", "Grain cheese was deleted", "Grain cheese does not exist")
	h.check(t, false, "grains.exists", data.NewMap("name", "cheese"),
		step{false, false, "Grain does not exist"})
	h.check(t, false, "grains.append", data.NewMap("name", "none", "value", "x"),
		step{false, false, "Grain none does not exist"})
	v, err := h.functions.Invoke(t.Context(), "grains.get", []any{"roles"}, nil)
	if err != nil || !data.Equal(v, []any{"web", "mail"}) {
		t.Errorf("roles are %s, %v", data.Repr(v), err)
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("BRINE_STATE_TEST", "") // restored at the end
	h, args := newHost(t), data.NewMap("name", "BRINE_STATE_TEST", "value", "abc")
	h.check(t, true, "environ.setenv", args, step{true, true, "Environ values will be changed"})
	if os.Getenv("BRINE_STATE_TEST") != "" {
		t.Error("test mode sets a variable")
	}
	h.check(t, false, "environ.setenv", args, step{true, true, "Environ values were set"})
	h.check(t, false, "environ.setenv", args,
		step{true, false, "Environ values were already set with the correct values"})
	h.check(t, true, "environ.setenv", args,
		step{true, false, "Environ values are already set with the correct values"})
	gone := data.NewMap("name", "BRINE_STATE_TEST", "value", false, "false_unsets", true)
	h.check(t, false, "environ.setenv", gone, step{true, true, "Environ values were set"})
	h.check(t, false, "environ.setenv", gone,
		step{true, false, "Environ values were already set with the correct values"})
	h.check(t, false, "environ.setenv", data.NewMap("value", int64(1)),
		step{false, false, "Environ value must be string, dict or False"})
}

func TestSchedule(t *testing.T) {
	h := newHost(t)
	for _, c := range []struct {
		fun  string
		args *data.Map
		want step
	}{
		{"schedule.absent", data.NewMap("name", "job1"),
			step{true, false, "Job job1 not present in schedule"}},
		{"schedule.enabled", data.NewMap("name", "job1"),
			step{true, false, "Job job1 not present in schedule"}},
		{"schedule.disabled", data.NewMap("name", "job1"),
			step{true, false, "Job job1 not present in schedule"}},
	} {
		h.check(t, false, c.fun, c.args, c.want)
	}
	ret := h.run(t, true, "schedule.present",
		data.NewMap("name", "job1", "function", "test.ping", "seconds", int64(3600)))
	if ret.Value("comment") != "Job: job1 would be added to schedule." || data.Truth(ret.Value("changes")) {
		t.Errorf("got %s", data.Repr(ret))
	}
}

func TestEvent(t *testing.T) {
	h := newHost(t)
	args := data.NewMap("name", "my/tag", "data", data.NewMap("a", int64(1)))
	for _, fun := range []string{"event.send", "event.fire_master"} {
		h.check(t, true, fun, args, step{nil, true, "Event would have been fired"})
		h.check(t, false, fun, args, step{false, true, "Event fired"}) // there is no bus
	}
	args.Set("show_changed", false)
	h.check(t, true, "event.mod_watch", args, step{nil, false, "Event would have been fired"})
	h.check(t, false, "event.wait", data.NewMap("name", "my/tag"), step{true, false, ""})
}

func TestStateconf(t *testing.T) {
	h := newHost(t)
	for _, fun := range []string{"stateconf.set", "stateconf.context"} {
		h.check(t, false, fun, data.NewMap("port", int64(80)), step{true, false, ""})
	}
}

func TestModule(t *testing.T) {
	h := newHost(t)
	echo := func(text string) *data.Map { return data.NewMap("test.echo", []any{data.NewMap("text", text)}) }
	for _, fun := range []string{"module.run", "module.mod_watch"} {
		h.check(t, true, fun, echo("hi"), step{nil, false, "Function test.echo to be executed."})
		h.check(t, false, fun, echo("hi"), step{true, true, "test.echo: hi"})
	}
	h.check(t, false, "module.run", data.NewMap("a.b", nil, "c.d", nil),
		step{false, false, "Unavailable functionTrue: a.b, c.d."})
	h.check(t, false, "module.run", data.NewMap("test.echo", []any{}),
		step{false, false, "'test.echo' failed: Missing arguments: text"})
	h.check(t, false, "module.run", data.NewMap("test.false", []any{}),
		step{false, false, "'test.false': False"})
	h.check(t, false, "module.run", data.NewMap("test.echo:1", []any{"a"},
		"test.echo:2", []any{"b"}), step{true, true, "test.echo:1: a, test.echo:2: b"})
	h.check(t, false, "module.run", data.NewMap("name", "test.echo"),
		step{false, false, "The following arguments are missing: text"})
	h.check(t, false, "module.run", data.NewMap("name", "test.arg", "args", "x"),
		step{false, false, "'args' must be a list."})
	h.check(t, false, "module.run", data.NewMap("name", "test.arg", "kwargs", "x"),
		step{false, false, "'kwargs' must be a dict."})
	for _, fun := range []string{"module.wait", "module.watch"} {
		h.check(t, false, fun, data.NewMap("name", "test.echo"), step{true, false, ""})
	}
}

func TestCmd(t *testing.T) {
	h, file := newHost(t), filepath.Join(t.TempDir(), "made")
	run := data.NewMap("name", "touch "+file)
	h.check(t, true, "cmd.run", run,
		step{nil, true, `Command "touch ` + file + `" would have been executed`})
	if _, err := os.Stat(file); err == nil {
		t.Error("test mode ran the command")
	}
	h.check(t, false, "cmd.run", run, step{true, true, `Command "touch ` + file + `" run`})
	run.Set("creates", file)
	h.check(t, false, "cmd.run", run, step{true, false, file + " exists"})
	masked := filepath.Join(filepath.Dir(file), "masked")
	h.check(t, false, "cmd.run", data.NewMap("name", "touch "+masked, "umask", "077"),
		step{true, true, `Command "touch ` + masked + `" run`})
	if info, err := os.Stat(masked); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mask of the state does not count: %v, %v", info, err)
	}
	h.check(t, false, "cmd.run", data.NewMap("name", "true", "cwd", "/nonexistent"),
		step{false, false, `Desired working directory "/nonexistent" is not available`})
	h.check(t, false, "cmd.run", data.NewMap("name", "true", "env", "A=1"),
		step{false, false, "Invalidly-formatted 'env' parameter. See documentation."})
	h.check(t, false, "cmd.script", data.NewMap("name", "x", "context", "y"),
		step{false, false, "Invalidly-formatted 'context' parameter. Must be formed as a dict."})
	h.check(t, false, "cmd.mod_watch", data.NewMap("name", "echo x", "sfun", "none"),
		step{false, false, "cmd.none does not work with the watch requisite, please use cmd.wait or cmd.wait_script"})
	h.check(t, false, "cmd.mod_watch", data.NewMap("name", "echo x", "sfun", "wait"),
		step{true, true, `Command "echo x" run`})
	h.check(t, false, "cmd.mod_watch", data.NewMap("name", "x", "sfun", "wait_call"),
		step{false, false, "cmd.wait_call needs a named parameter func"})
	for _, fun := range []string{"cmd.wait", "cmd.watch", "cmd.wait_script"} {
		h.check(t, false, fun, data.NewMap("name", "x"), step{true, false, ""})
	}
	h.check(t, false, "cmd.wait_call", data.NewMap("name", "x", "func", "y"), step{true, false, ""})
	if ret := h.run(t, false, "cmd.call", data.NewMap("func", "y")); ret.Value("result") != false ||
		!strings.Contains(ret.Text("comment"), "'str' object is not callable") {
		t.Errorf("got %s", data.Repr(ret))
	}
}

func TestTestStates(t *testing.T) {
	h := newHost(t)
	for fun, want := range map[string][2]step{
		"test.nop":                     {{true, false, "Success!"}, {true, false, "Success!"}},
		"test.succeed_without_changes": {{true, false, "Success!"}, {true, false, "Success!"}},
		"test.succeed_with_changes": {{true, true, "Success!"},
			{nil, true, "If we weren't testing, this would be successful with changes"}},
		"test.fail_without_changes": {{false, false, "Failure!"},
			{false, false, "If we weren't testing, this would be a failure!"}},
		"test.fail_with_changes": {{false, true, "Failure!"},
			{nil, true, "If we weren't testing, this would be failed with changes"}},
		"test.configurable_test_state": {{true, true, ""}, {nil, true, "This is a test"}},
	} {
		for range 2 { // the results must be the same each time
			h.check(t, false, fun, nil, want[0])
			h.check(t, true, fun, nil, want[1])
		}
	}
	h.check(t, false, "test.show_notification", data.NewMap("text", "hello"), step{true, false, "hello"})
	h.check(t, false, "test.mod_watch", nil, step{true, true, "Watch statement fired."})
	h.check(t, false, "test.check_pillar", data.NewMap("string", "k", "integer", []any{"i", "k"}),
		step{false, false, "Pillar key \"k\" is not <class 'int'>.\n"})
}

// TestEveryStateIsDocumented also checks that each function has a Python name and an example.
func TestEveryStateIsDocumented(t *testing.T) {
	functions, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shelf, err := loader.NewRegistry(functions.Env(), Plugins()) // must not be used as functions
	if err != nil {
		t.Fatal(err)
	}
	for _, fun := range shelf.Names() {
		f, _ := shelf.Func(fun)
		if doc := f.Spec().Docstring(); !strings.HasPrefix(doc, "\n") || !strings.HasSuffix(doc, "\n    ") {
			t.Errorf("%s has no documentation: %q", fun, doc)
		}
	}
	if names := shelf.Modules(); !slices.IsSorted(names) || len(names) < 8 {
		t.Errorf("states %v", names)
	}
}
