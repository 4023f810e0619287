// Package testroot creates small system roots for tests of modules and states that change users,
// and loads the plug-ins over them.
package testroot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states"
)

// A Root is the root directory of a system, with the functions and the states that work on it.
type Root struct {
	Dir       string
	Functions *loader.Registry
	States    *loader.Registry
}

func files() map[string]string {
	return map[string]string{
		"etc/passwd":     "root:x:0:0:root:/root:/bin/bash\n",
		"etc/shadow":     "root:*:19000:0:99999:7:::\n",
		"etc/group":      "root:x:0:\nwheel:x:10:\ngames:x:60:\nusers:x:100:\n",
		"etc/gshadow":    "root:*::\nwheel:*::\ngames:*::\nusers:*::\n",
		"etc/login.defs": "UID_MIN 1000\nUID_MAX 60000\nGID_MIN 1000\nGID_MAX 60000\nPASS_MAX_DAYS 99999\nPASS_MIN_DAYS 0\nPASS_WARN_AGE 7\nUSERGROUPS_ENAB yes\n",
	}
}

// New creates a root directory with the user root and the groups root, wheel, games and users.
// Without the right to change roots, or without the named programs, the test is skipped.
func New(t *testing.T, programs ...string) *Root {
	t.Helper()
	need.Root(t, "to change users below another root directory")
	need.Program(t, programs...)
	return Plain(t)
}

// Plain is New for tests that need no privileges.
func Plain(t *testing.T) *Root {
	t.Helper()
	r := &Root{Dir: t.TempDir()}
	for _, dir := range []string{"home", "root", "tmp", "cache", "var/mail", "etc/salt"} {
		r.Make(t, dir)
	}
	for name, text := range files() {
		r.Write(t, name, text)
	}
	log := logging.Discard()
	grains := data.NewMap("kernel", "Linux", "os", "Debian", "os_family", "Debian")
	opts := data.NewMap("id", "web1", "cachedir", filepath.Join(r.Dir, "cache"), "file_client",
		"local", "fileserver_backend", []any{"roots"}, "file_roots",
		data.NewMap("base", []any{filepath.Join(r.Dir, "srv/salt")}), "hosts.file",
		filepath.Join(r.Dir, "etc/hosts"), "conf_file", filepath.Join(r.Dir, "etc/salt/minion"))
	env := &loader.Env{Root: r.Dir, Log: log, Opts: opts,
		Grains: func() *data.Map { return grains }}
	var err error
	if r.Functions, err = loader.NewRegistry(env, modules.Plugins(modules.Brought())); err != nil {
		t.Fatal(err)
	}
	lent := *r.Functions.Env()
	if r.States, err = loader.NewRegistry(&lent, states.Plugins()); err != nil {
		t.Fatal(err)
	}
	return r
}

// Path returns the path of a file of the system.
func (r *Root) Path(name string) string { return filepath.Join(r.Dir, name) }

// Make creates a directory.
func (r *Root) Make(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(r.Path(name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Write writes a text to a file.
func (r *Root) Write(t *testing.T, name, text string) {
	t.Helper()
	r.Make(t, filepath.Dir(name))
	if err := os.WriteFile(r.Path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Read returns the text of a file, "" if it does not exist.
func (r *Root) Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(r.Path(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// Call calls a function, which must not fail.
func (r *Root) Call(t *testing.T, fun string, args ...any) any {
	t.Helper()
	v, err := r.Functions.Invoke(t.Context(), fun, args, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", fun, data.Repr(args), err)
	}
	return v
}

// A Call is a call of a function and its expected result.
type Call = struct {
	Fun  string
	Args []any
	Want any
}

// Check makes calls in order and compares the results.
func (r *Root) Check(t *testing.T, calls []Call) {
	t.Helper()
	for _, c := range calls {
		if got := r.Call(t, c.Fun, c.Args...); !data.Equal(got, c.Want) {
			t.Errorf("%s %s: got %s, want %s", c.Fun, data.Repr(c.Args), data.Repr(got),
				data.Repr(c.Want))
		}
	}
}

// Apply runs a state function and returns its result.
func (r *Root) Apply(t *testing.T, test bool, fun string, args *data.Map) *data.Map {
	t.Helper()
	call := &change.Call{Test: test, Low: &data.Map{}, SaltEnv: "base", Run: "run",
		Ran: func(string) *data.Map { return nil }, Chunks: func() []*data.Map { return nil }}
	v, err := r.States.Invoke(change.WithCall(t.Context(), call), fun, nil,
		data.Clone(args).(*data.Map))
	if err != nil {
		t.Fatalf("%s %s: %v", fun, data.Repr(args), err)
	}
	return v.(*data.Map)
}

// A Step is the expected result of a state.
type Step = struct {
	Result  any
	Changes *data.Map // nil for none
	Comment string
}

// Expect applies a state and compares the result.
func (r *Root) Expect(t *testing.T, test bool, fun string, args *data.Map, want Step) {
	t.Helper()
	got := r.Apply(t, test, fun, args)
	changes := want.Changes
	if changes == nil {
		changes = &data.Map{}
	}
	if got.Value("result") != want.Result || got.Value("comment") != want.Comment ||
		!data.Equal(got.Value("changes"), changes) {
		t.Errorf("%s %s, test mode %v:\n got %s\nwant %s, %s, %q", fun, data.Repr(args), test,
			data.Repr(got), data.Repr(want.Result), data.Repr(changes), want.Comment)
	}
}

// Converges applies a state in test mode, which must write nothing, then normally, again, and in
// test mode again.
func (r *Root) Converges(t *testing.T, fun string, args *data.Map, would, done, same Step) {
	t.Helper()
	before := r.listing(t)
	r.Expect(t, true, fun, args, would)
	if after := r.listing(t); after != before {
		t.Errorf("%s in test mode wrote:\n%s\nwas\n%s", fun, after, before)
	}
	r.Expect(t, false, fun, args, done)
	r.Expect(t, false, fun, args, same)
	r.Expect(t, true, fun, args, same)
}

// listing returns names, sizes and times of everything in the directory.
func (r *Root) listing(t *testing.T) string {
	t.Helper()
	out := ""
	err := filepath.WalkDir(r.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out += path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
