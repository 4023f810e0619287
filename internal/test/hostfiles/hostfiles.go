// Package hostfiles makes calls of modules that write files below a root directory and call other
// modules, and compares the results, the files and these calls with Salt's.
//
// A file is a list of objects: fun, args and kwargs are the call, and grains those of the host. files has
// the texts before it by their paths; bare says whether the directories of the network are missing. value
// is Salt's result, or error the class and text of its exception. after has the files after it, and called
// the calls of other modules, each with its function and arguments.
package hostfiles

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Options configure the calls of a file.
type Options struct {
	Plugin  loader.Plugin
	Dirs    []string // directories that exist
	Answers *data.Map
}

// Check makes the calls of a file, each of them twice: first in a fresh root, then over the files
// of the first call, which must stay as they are.
func Check(t *testing.T, file string, o Options) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		t.Fatalf("%s has no calls", file)
	}
	for _, c := range list {
		check(t, c.(*data.Map), o)
	}
}

func check(t *testing.T, c *data.Map, o Options) {
	t.Helper()
	h := NewHost(t, c.Value("grains"), o)
	if c.Value("bare") != true {
		h.Dirs(t, o.Dirs...)
	}
	files, _ := c.Value("files").(*data.Map)
	h.Write(t, files)
	args, _ := c.Value("args").([]any)
	kwargs, _ := c.Value("kwargs").(*data.Map)
	said := c.Text("fun") + " " + data.Repr(args) + " " + data.Repr(kwargs) + " " + data.Repr(c.Value("grains"))
	for turn := range 2 {
		h.Called = []any{}
		got, err := h.Registry.Invoke(t.Context(), c.Text("fun"), args, kwargs)
		if want := c.Text("error"); want != "" || err != nil {
			if text := calls.Text(err); text != want {
				t.Errorf("%s gives %s, error %q, want %q", said, data.Repr(got), text, want)
				return
			}
		} else if turn == 0 && !data.Equal(got, c.Value("value")) {
			t.Errorf("%s\n got %s\nwant %s", said, data.Repr(got), data.Repr(c.Value("value")))
			return
		}
		if got := h.Files(t); !data.Equal(got, c.Value("after")) {
			t.Errorf("%s\nleaves %s\nwant   %s", said, data.Repr(got), data.Repr(c.Value("after")))
		}
		if turn == 0 && !data.Equal(h.Called, c.Value("called")) {
			t.Errorf("%s\ncalls %s\nwant  %s", said, data.Repr(h.Called), data.Repr(c.Value("called")))
		}
	}
}

// A Host is a root directory with a module, and other modules that record their calls.
type Host struct {
	Root     string
	Registry *loader.Registry
	Called   []any     // the calls of other modules
	Answers  *data.Map // what the functions of other modules return
	// Fails has the outputs of programs that end with exit code 3, by their names.
	Fails map[string]string
}

// NewHost returns a host. The functions among the keys of o.Answers return their values. cmd.run
// returns an empty text, and "ran" with the name of the program for ifup, ifdown and netconfig;
// cmd.run_all returns the same with the exit code, and is recorded as cmd.run, which Salt calls.
func NewHost(t *testing.T, grains any, o Options) *Host {
	t.Helper()
	h := &Host{Root: t.TempDir(), Called: []any{}, Answers: o.Answers.Clone()}
	now, _ := grains.(*data.Map)
	env := &loader.Env{Root: h.Root, Opts: data.NewMap(), Grains: func() *data.Map { return now }}
	byModule := map[string][]loader.Func{}
	for fun := range o.Answers.All() {
		module, name, _ := splitFun(data.Str(fun))
		byModule[module] = append(byModule[module], loader.F(name,
			func(_ context.Context, a anyArgs) (any, error) { return h.call(data.Str(fun), a) }))
	}
	plugins := []loader.Plugin{o.Plugin}
	for module, funcs := range byModule {
		plugins = append(plugins, loader.Plugin{Name: module, New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: funcs}, nil
		}})
	}
	r, err := loader.NewRegistry(env, plugins)
	if err != nil {
		t.Fatal(err)
	}
	h.Registry = r
	return h
}

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

func splitFun(fun string) (module, name string, ok bool) {
	i := slices.Index([]byte(fun), '.')
	return fun[:i], fun[i+1:], true
}

func (h *Host) call(fun string, a anyArgs) (any, error) {
	answer := h.Answers.Value(fun)
	if fun == "cmd.run" || fun == "cmd.run_all" {
		argv, ok := a.Args[0].([]any)
		if !ok {
			words, err := process.Words(data.Str(a.Args[0]))
			if err != nil {
				return nil, err
			}
			argv = data.Values(words)
		}
		h.Called = append(h.Called, []any{"cmd.run", argv})
		program, out, code := filepath.Base(data.Str(argv[0])), data.Str(answer), int64(0)
		if slices.Contains([]string{"ifup", "ifdown", "netconfig"}, program) {
			out = "ran " + program
		}
		if text, fails := h.Fails[program]; fails {
			out, code = text, 3
		}
		if fun == "cmd.run" {
			return out, nil
		}
		return data.NewMap("retcode", code, "stdout", out, "stderr", ""), nil
	}
	line := append([]any{fun}, a.Args...)
	for line[len(line)-1] == nil { // defaults
		line = line[:len(line)-1]
	}
	if a.Kwargs.Len() > 0 {
		line = append(line, a.Kwargs)
	}
	h.Called = append(h.Called, line)
	return answer, nil
}

// Dirs creates directories.
func (h *Host) Dirs(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(h.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// Write writes files by their paths.
func (h *Host) Write(t *testing.T, files *data.Map) {
	t.Helper()
	for name, text := range files.All() {
		at := filepath.Join(h.Root, data.Str(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(data.Str(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Files returns the texts of all files by their paths.
func (h *Host) Files(t *testing.T) *data.Map {
	t.Helper()
	found := data.NewMap()
	err := filepath.WalkDir(h.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(h.Root, path) //nolint:errcheck // it is below the root
		found.Set(filepath.ToSlash(name), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Network is what the modules answer that those of the network call: packages are missing, services
// exist and obey.
func Network() *data.Map {
	return data.NewMap("cmd.run", "", "cmd.run_all", "", "pkg.install", data.NewMap(), "pkg.version", "",
		"service.stop", true, "service.start", true, "service.restart", true, "service.reload", true,
		"service.enable", true, "service.disable", true, "service.available", true, "service.status", true,
		"network.mod_hostname", true, "sysctl.persist", "Updated", "kmod.load", []any{},
		"saltutil.refresh_grains", true,
		"network.interfaces", data.NewMap(
			"lo", data.NewMap("up", true, "hwaddr", "00:00:00:00:00:00"),
			"eth0", data.NewMap("up", true, "hwaddr", "aa:bb:cc:00:11:22", "inet",
				[]any{data.NewMap("address", "192.0.2.7", "label", "eth0")}, "secondary",
				[]any{data.NewMap("type", "inet", "address", "192.0.2.8", "label", "eth0:1")}),
			"eth1", data.NewMap("up", false, "hwaddr", "aa:bb:cc:00:11:23")))
}
