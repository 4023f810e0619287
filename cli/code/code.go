// Package code gives a program its users' own plug-ins: those of the directories that the program's
// options name (python.Directories), which are written in Python or are programs. Python is started
// when the first of them is looked for.
//
// A small minion does not link this package; it runs programs only.
package code

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/program"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/py"
	"github.com/brineproject/brine/render/pyhost"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/change"
)

// Options describe the program.
type Options struct {
	Opts   *data.Map // options of the minion or master
	Daemon bool      // the program stays, and each job gets a Python process of its own

	Services python.Services // operations of the library that this program performs
	Log      *logrus.Logger
}

// A Code is the users' own plug-ins of a program.
type Code struct {
	host      *python.Host
	programs  *program.Host
	opts      atomic.Pointer[data.Map]
	log       *logrus.Logger
	rendering func() py.Rendering             // renders for plug-ins in Python
	salt      func() (*python.Library, error) // the installed Salt of the option python_salt
}

// New returns the users' own plug-ins of a program. Close ends Python.
func New(o Options) *Code {
	c := &Code{log: o.Log}
	c.opts.Store(o.Opts)
	directories := func() map[string][]string { return python.Directories(c.opts.Load()) }
	c.salt = sync.OnceValues(func() (*python.Library, error) {
		return python.FindLibrary(context.Background(), o.Opts.Value("python_salt"), "python3")
	})
	c.programs = program.NewHost(program.Options{Daemon: o.Daemon, Directories: directories, Log: o.Log})
	c.host = python.NewHost(python.Options{
		CacheDir: o.Opts.Text("cachedir"), Daemon: o.Daemon, Level: o.Log.GetLevel(), Log: o.Log,
		Services: o.Services, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Directories: directories,
		Library: func() *python.Library {
			library, _ := c.salt() // Check has reported the error
			return library
		},
	})
	c.rendering = sync.OnceValue(func() py.Rendering {
		b := modules.Brought()
		b.Renderers = append(b.Renderers, py.New(c.host, py.Rendering{Brought: b}))
		b.Renderers = append(b.Renderers, pyhost.Renderers(c.host)...)
		return py.Rendering{Brought: b}
	})
	return c
}

// Renew makes a daemon's later jobs use other options.
func (c *Code) Renew(opts *data.Map) {
	c.opts.Store(opts)
	c.host.Renew()
}

// Check reports an option of the program under which its plug-ins cannot run.
func (c *Code) Check() error {
	_, err := c.salt()
	return err
}

// Close ends Python and the programs.
func (c *Code) Close() {
	if err := errors.Join(c.host.Close(), c.programs.Close()); err != nil {
		c.log.WithError(err).Warn("end the processes of users' own plug-ins")
	}
}

// Source returns the plug-ins of a kind beside those that are listed.
func (c *Code) Source(kind string, env *loader.Env, listed []loader.Plugin) loader.Source {
	files, programs := c.host.Files(kind, env, listed), c.programs.Files(kind, env, listed)
	files.Rendering = c.rendering()
	switch kind {
	case "states":
		files.Extra, files.Live, programs.Test = stateGlobals, liveStates, change.Test
	case "runners", "wheel":
		files.Extra, files.Progress = runGlobals, progress
	}
	all := sources{files, programs}
	if library, _ := c.salt(); library != nil && slices.Contains(python.ShelfKinds(), kind) {
		all = append(all, c.host.Shelf(files))
	}
	return all
}

// Has reports whether there is a file for a plug-in of a kind, without loading it. If Brine has a
// plug-in of that name, listed is true and only a file of that name counts. Otherwise so does one
// that may call itself by the name.
func (c *Code) Has(kind, name string, listed bool) bool {
	return Has(c.opts.Load(), kind, name, listed)
}

// Version returns a number that changes when a file of a plug-in does.
func (c *Code) Version() uint64 { return python.Version(python.Directories(c.opts.Load())) }

// Has is [Code.Has] for options. It needs no Python.
func Has(opts *data.Map, kind, name string, listed bool) bool {
	return python.HasPlugin(python.Directories(opts)[kind], name, !listed)
}

// Names returns the names of the files of a kind. It needs no Python.
func Names(opts *data.Map, kind string) []string {
	return python.FileNames(python.Directories(opts)[kind])
}

// Renderers returns the renderers that run Python.
func (c *Code) Renderers() []render.Renderer {
	return append([]render.Renderer{py.New(c.host, c.rendering())}, pyhost.Renderers(c.host)...)
}

// Grains returns the grains of users' own files in the order in which they are merged. known are
// those that the files see.
func (c *Code) Grains(ctx context.Context, known *data.Map) []*data.Map {
	env := &loader.Env{Opts: c.opts.Load(), Grains: func() *data.Map { return known }, Log: c.log}
	found := c.host.Files("grains", env, nil).Grains(ctx, known)
	known = known.Clone()
	for _, m := range found {
		known.Update(m)
	}
	return append(found, c.programs.Files("grains", env, nil).Grains(ctx, known)...)
}

// stateGlobals returns what a state function in Python finds in its globals for the time of a call
// (salt/state.py, State.call).
func stateGlobals(ctx context.Context) *data.Map {
	c := change.CallOf(ctx)
	return data.NewMap("__test__", c.Test, "__env__", c.SaltEnv, "__low__", c.Low,
		"__instance_id__", c.Run, "__orchestration_jid__", c.Orchestration)
}

// liveStates returns __running__, the results of the states that have run by their tags, or
// __lowstate__, all chunks of the run.
func liveStates(ctx context.Context, name string) any {
	call := change.CallOf(ctx)
	chunks := []any{}
	results := data.NewMap()
	if call.Chunks == nil {
		return results
	}
	for _, low := range call.Chunks() {
		chunks = append(chunks, low)
		tag := state.Chunk{Map: low}.Tag()
		if ret := call.Ran(tag); ret != nil {
			results.Set(tag, ret)
		}
	}
	if name == "lowstate" {
		return chunks
	}
	return results
}

// runGlobals returns what runners and wheel functions in Python find in their globals for the time
// of a call (salt/client/mixins.py, low).
func runGlobals(ctx context.Context) *data.Map {
	run := runners.RunOf(ctx)
	return data.NewMap("__jid__", string(run.ID), "__user__", run.User, "__tag__", run.Tag)
}

// progress fires an event of the run under way.
func progress(ctx context.Context, suffix string, body *data.Map) error {
	return runners.RunOf(ctx).Fire(ctx, suffix, body)
}
