// Package saltcall is the program salt-call: it runs one function of the minion on this host and
// prints the result. It is separate from package cli so that other programs need not link the
// minion's code.
//
// With --local nothing goes over the network. Otherwise the program authenticates as the minion
// with its key, fetches the pillar, and sends the result to the master at the end
// (salt/cli/call.py, salt/cli/caller.py). Unlike in Salt, the options -g and -d never need a
// master.
package saltcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltminion"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/minion"
)

// Exit codes (salt/defaults/exitcodes.py and where they stand).
const (
	exitOK          = 0
	exitGeneric     = 1
	exitNotAccepted = 2
	exitFingerprint = 42
	exitRejected    = 77
	exitNoFunction  = 255
)

// Run runs the program until it is done or ctx ends, and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	in.Installed = saltminion.Installed(in.Env)
	o, err := cli.ParseCall(in)
	if err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	cfg, report, err := config.LoadMinion(o.ConfigDir, in.Env)
	if err != nil {
		return cli.PrintError(fmt.Errorf("salt-call: %w", err), stdout, stderr)
	}
	if err := saltminion.Resolve(ctx, cfg, report, in.Env); err != nil {
		return cli.PrintError(fmt.Errorf("salt-call: %w", err), stdout, stderr)
	}
	if o.ID == "" {
		if err := saltminion.Identify(ctx, cfg, in.Env); err != nil {
			return cli.PrintError(fmt.Errorf("salt-call: %w", err), stdout, stderr)
		}
	}
	r := &run{o: o, cfg: cfg, report: report}
	r.configure()
	if o.FileRoot == "" && o.PillarRoot == "" {
		saltminion.CheckLocalDirs(cfg, report)
	}
	log, closer, err := cli.OpenLog(r.opts, stderr)
	if err != nil {
		return cli.PrintError(fmt.Errorf("salt-call: %w", err), stdout, stderr)
	}
	defer closer.Close()
	cli.PrintWarnings(stderr, r.opts, report)
	r.log = log
	if o.Local || cfg.FileClient == "local" {
		useHere(r.opts, in.Dir, log)
	}
	if r.out, err = o.NewPrinter(r.opts, o.Call.Fun, stdout, stderr); err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	code := r.run(ctx, in)
	if ctx.Err() != nil {
		r.out.PrintErr("\nExiting gracefully on Ctrl-c\n")
		code = exitOK
	}
	if err := r.out.Flush(); err != nil && code == exitOK {
		return exitGeneric
	}
	return code
}

// run is one run of salt-call.
type run struct {
	o      *cli.CallOptions
	cfg    *config.Minion
	report *config.Report
	opts   *data.Map // configuration with the command line applied, as functions see it
	log    *logrus.Logger
	out    *cli.Printer
	call   *minion.Caller
}

// configure applies the command line to the configuration.
func (r *run) configure() {
	o, cfg := r.o, r.cfg
	if o.ID != "" {
		cfg.ID = o.ID
	}
	if o.Master != "" {
		cfg.Master = []string{o.Master}
	}
	if o.Given("cachedir") && o.CacheDir != "" {
		cfg.CacheDir = o.CacheDir
	}
	if o.Local {
		cfg.FileClient = "local"
	}
	if o.Given("auth_timeout") {
		cfg.AuthTimeout = time.Duration(o.AuthTimeout) * time.Second
	}
	r.opts = cfg.Map()
	o.Merge(r.opts)
	r.opts.Set("id", cfg.ID)
	r.opts.Set("cachedir", cfg.CacheDir)
	if o.Given("master") && o.Master != "" {
		r.opts.Set("master", o.Master)
	} else {
		r.opts.Set("master", cfg.Map().Value("master"))
	}
	r.root("file_roots", o.FileRoot)
	r.root("pillar_roots", o.PillarRoot)
	if o.StatesDir != "" {
		r.opts.Set("states_dirs", []any{absolute(o.StatesDir)}) // it replaces the option, as in salt/cli/call.py
	}
	args := make([]any, len(o.Call.Args))
	for i, a := range o.Call.Args {
		args[i] = a
	}
	r.opts.Set("__cli", "salt-call") // whatever the program file's name
	r.opts.Set("caller", true)
	r.opts.Set("fun", o.Call.Fun)
	r.opts.Set("arg", args)
}

// root makes dir the only directory of the environment base; dir may contain shell wildcards.
func (r *run) root(option, dir string) {
	if dir == "" {
		return
	}
	dirs := []any{}
	if dir = absolute(dir); strings.ContainsAny(dir, "*?[") {
		found, _ := filepath.Glob(dir) // an invalid pattern matches nothing
		for _, one := range found {
			dirs = append(dirs, one)
		}
	} else {
		dirs = append(dirs, dir)
	}
	r.opts.Set(option, data.NewMap("base", dirs))
}

func absolute(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	return abs
}

// joins reports whether the call signs in to a master (salt/minion.py, SMinion).
func (r *run) joins() bool {
	return r.opts.Text("master_type") != "disable" &&
		(r.cfg.FileClient != "local" || data.Truth(r.opts.Value("use_master_when_local")))
}

// local reports whether the result stays on this host.
func (r *run) local() bool {
	return r.o.Local || r.cfg.FileClient == "local" || r.opts.Text("master_type") == "disable"
}

func (r *run) run(ctx context.Context, in cli.Invocation) int {
	code := saltminion.NewCode(r.opts, r.log, false)
	defer code.Close()
	if err := code.Check(); err != nil {
		return r.fail(err)
	}
	o, err := saltminion.Options(r.cfg, in.Env, r.log, code)
	if err != nil {
		return r.fail(err)
	}
	o.Grains = saltminion.Grains(func() grains.Options {
		return grains.Options{Opts: r.opts, Env: in.Env, Log: r.log, ConfFile: r.cfg.ConfFile,
			Own: code.Grains}
	})
	if r.call, err = minion.NewCaller(ctx, r.cfg, r.opts, o); err != nil {
		return r.fail(err)
	}
	defer r.call.Close()
	r.out.Extend(ctx, r.call.Plugins)
	switch {
	case r.o.Doc:
		return r.docs()
	case r.o.GrainsRun:
		return r.print(r.call.Grains(), "grains", exitOK)
	}
	if r.joins() {
		if err := r.call.Join(ctx); err != nil {
			return r.notJoined(err)
		}
	} else if err := r.call.Compile(ctx); err != nil {
		return r.fail(err)
	}
	return r.function(ctx)
}

func (r *run) fail(err error) int {
	if errors.As(err, new(*config.About)) { // a fault of the configuration, as those before the log
		if !r.o.Given("master") {
			err = r.report.Locate(err)
		}
		err = fmt.Errorf("salt-call: %w", err)
	}
	r.out.PrintErr("%v%s\n", err, cli.RightsHint(err))
	return exitGeneric
}

// notJoined reports why the master did not admit the minion (salt/crypt.py, SAuth).
func (r *run) notJoined(err error) int {
	switch {
	case errors.Is(err, context.Canceled):
		return exitOK
	case errors.Is(err, channel.ErrPending), errors.Is(err, channel.ErrFull):
		r.log.Warn(err)
		r.out.Printf("Minion failed to authenticate with the master, has the minion key been accepted?\n")
		return exitNotAccepted
	case errors.Is(err, channel.ErrDenied):
		id := data.Str(r.opts.Value("id"))
		r.log.Log(logrus.FatalLevel, fmt.Sprintf("The Salt Master knows another key for the id %[1]s: another host has that id, or this host "+
			"was installed anew. Compare the keys on the Salt Master with: salt-key -f %[1]s; and take the new one with: salt-key -a %[1]s --include-denied", id))
		return exitRejected
	case errors.Is(err, channel.ErrRejected):
		r.log.Log(logrus.FatalLevel, "The Salt Master has rejected this minion's public key!\nTo repair this issue, delete the public key for this "+
			"minion on the Salt Master.\nOr restart the Salt Master in open mode to clean out the keys. The Salt Minion will now exit.")
		return exitRejected
	case errors.Is(err, channel.ErrFingerprint):
		r.log.Log(logrus.FatalLevel, err)
		return exitFingerprint
	case errors.Is(err, context.DeadlineExceeded):
		r.log.Error(err)
		code := r.fail(errors.New("Attempt to authenticate with the salt master failed with timeout error")) //nolint:staticcheck // Salt's text
		r.noMaster()
		return code
	}
	return r.fail(err)
}

// noMaster reports why no master answers, and how to run without one.
func (r *run) noMaster() {
	if err := r.call.Trouble(); err != nil {
		r.out.PrintErr("No connection to %v\n", err)
	}
	r.out.PrintErr("The option master is %s. Is salt-master running there, and are its ports open? salt-call --local needs no master.\n",
		data.Str(r.opts.Value("master")))
}

// print prints a result as that of the minion local.
func (r *run) print(v any, out string, code int) int {
	err := r.out.Print(data.NewMap("local", v), out, code)
	if err != nil {
		return exitGeneric
	}
	return code
}

// docs prints the documentation of the functions whose names begin with the given one.
func (r *run) docs() int {
	functions := r.call.Functions()
	for _, name := range functions.Names() {
		f, ok := functions.Func(name)
		if ok && f.Spec().Docstring() != "" && strings.HasPrefix(name, r.o.Call.Fun) {
			r.out.Printf("%s:\n%s\n\n", name, f.Spec().Docstring())
		}
	}
	return exitOK
}

// shown returns the printed value of a call and its outputter.
func (r *run) shown(ret *data.Map) (v any, out string) {
	if r.o.PrintMetadata {
		return ret, "nested"
	}
	out = ret.Text("out")
	if out == "" {
		out = "nested"
	}
	return ret.Value("return"), out
}
