// Package saltrun is the program salt-run: it calls a runner on the host of a master
// (salt/cli/run.py, salt/runner.py).
//
// The runner works in the program's process, with the master's configuration, as the master's user.
// The master, Brine or Salt, need not run; if it does, events on its bus report the beginning and
// the end. Only with external authentication (-a) does the master call the runner.
package saltrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Exit codes (salt/defaults/exitcodes.py).
const (
	exitOK      = 0
	exitGeneric = 1
)

// Run runs the program until it is done or ctx ends, and returns its exit code. It is that of Salt
// 3007: the retcode in the runner's result, 1 if the runner failed with an error, else 0, even if
// the runner does not exist.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	o, err := cli.ParseRun(in)
	if err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	cfg, report, err := config.LoadClient(o.ConfigDir, in.Env)
	if err != nil {
		return cli.PrintError(fmt.Errorf("salt-run: %w", err), stdout, stderr)
	}
	r := &run{in: in, o: o, cfg: cfg, opts: cfg.Map().Clone(), ids: newIDs(cfg.UniqueJID)}
	if err := cli.ReadClientConfig(r.opts, in, time.Now()); err != nil {
		return cli.PrintError(fmt.Errorf("salt-run: %w", err), stdout, stderr)
	}
	o.Merge(r.opts)
	r.opts.Set("fun", o.Call.Fun)
	r.opts.Set("arg", data.Values(o.Call.Args))
	log, closer, err := cli.OpenLog(r.opts, stderr)
	if err != nil {
		return cli.PrintError(fmt.Errorf("salt-run: %w", err), stdout, stderr)
	}
	defer closer.Close()
	cli.PrintWarnings(stderr, r.opts, report)
	r.log = log
	if r.out, err = o.NewPrinter(r.opts, o.Call.Fun, stdout, stderr); err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	code := r.run(ctx)
	if ctx.Err() != nil {
		r.out.PrintErr("\nExiting gracefully on Ctrl-c\n")
	}
	if err := r.out.Flush(); err != nil && code == exitOK {
		return exitGeneric
	}
	return code
}

// run is one run of salt-run.
type run struct {
	in   cli.Invocation
	o    *cli.RunOptions
	cfg  *config.Master
	opts *data.Map // configuration with the command line applied
	log  *logrus.Logger
	out  *cli.Printer
	host *host
	ids  *job.IDs

	failed bool // some output could not be printed
}

func (r *run) run(ctx context.Context) int {
	var err error
	if r.host, err = newHost(ctx, r); err != nil {
		return r.fail(err)
	}
	defer r.host.close()
	if r.o.Doc && cli.NotRoot() != "" {
		return r.docs() // any user may read it
	}
	if err := r.host.Become(r.log); err != nil {
		return r.fail(err)
	}
	if r.o.Doc {
		return r.docs()
	}
	return r.function(ctx)
}

// fail prints why nothing was done.
func (r *run) fail(err error) int {
	if exit := cli.IsExit(err); exit != nil {
		r.out.PrintErr("%s", exit.Stderr)
		return exit.Code
	}
	r.out.PrintErr("%v\n", err)
	return exitGeneric
}

// docs prints the documentation of the runners whose names begin with the given one.
func (r *run) docs() int {
	docs := r.host.runners.Docs(r.o.Call.Fun)
	for fun, doc := range docs.All() {
		if r.out.Print(data.Str(fun)+":", "text", exitOK) != nil {
			return exitGeneric
		}
		r.out.Printf("%s\n", data.Str(doc))
	}
	return exitOK
}

// function calls the runner here, in the background or through the master.
func (r *run) function(ctx context.Context) int {
	jid := job.ID(r.o.JID)
	if jid == "" {
		jid = r.ids.Next()
	}
	call := runners.Call{Fun: r.o.Call.Fun, JID: jid, User: r.host.User(), Show: r.show,
		Print: func(text string) {
			r.out.Printf("%s", text)
			_ = r.out.Flush() // show it at once; errors surface when the run ends
		}}
	wire := loader.WireArgs(r.o.Call.Args, r.o.NoParse...)
	if err := r.bind(&call, wire); err != nil {
		return r.refused(ctx, call, wire, err)
	}
	if r.o.MakeToken && r.o.EAuth == "" {
		r.out.Log("WARNING", cli.NoToken)
	}
	switch {
	case r.o.EAuth != "":
		return r.callOnMaster(ctx, call, wire)
	case r.o.Async:
		return r.inBackground(call)
	}
	if data.Truth(r.opts.Value("show_jid")) {
		r.out.Printf("jid: %s\n", jid)
	}
	return r.code(r.host.client().Run(ctx, call))
}

// newIDs returns a generator of job IDs.
func newIDs(unique bool) *job.IDs {
	if unique {
		return job.NewUniqueIDs(nil)
	}
	return job.NewIDs(nil)
}

// bind binds the arguments of a call. The error is Salt's for a runner that does not exist or does
// not accept them.
func (r *run) bind(call *runners.Call, wire []any) error {
	if call.Fun == "" {
		return loader.Invocation("Must specify a function to run!\nex: manage.up")
	}
	f, ok := r.host.runners.Func(call.Fun)
	if !ok {
		return loader.Execution("%s", r.host.runners.MissingText(call.Fun))
	}
	var err error
	if call.Args, call.Kwargs, err = f.Spec().Split(wire, nil); err != nil {
		return err
	}
	r.out.KeepOrder(f.Spec().Ordered)
	switch call.Fun {
	case "state.orchestrate", "state.orch", "state.sls":
		call.Kwargs.Set("orchestration_jid", string(call.JID))
	}
	return nil
}

// refusedCode is the return code in the event of a call that was not started.
const refusedCode = 254

// refused reports to the master and the terminal why a runner was not called. If runners' names
// begin with the given one, their documentation replaces the reason. The exit code is 0, as in Salt,
// except for a strict runner.
func (r *run) refused(ctx context.Context, call runners.Call, wire []any, err error) int {
	if f, ok := r.host.runners.Func(call.Fun); ok && f.Spec().Strict {
		r.refuseWith(ctx, call, wire, errors.New(runners.InvalidText(f.Spec(), err)), nil)
		return exitGeneric
	}
	return r.refuseWith(ctx, call, wire, err, r.host.runners.Docs(call.Fun+"*"))
}

// refuseWith is refused with the documentation to show instead of the reason; without any it shows
// the reason.
func (r *run) refuseWith(
	ctx context.Context, call runners.Call, wire []any, err error, docs *data.Map,
) int {
	veil := runners.VeilFor(r.host.runners, call.Fun, wire, nil)
	body := data.NewMap("success", false, "return", veil.Result(err.Error()), "retcode",
		int64(refusedCode), "fun", call.Fun, "fun_args", veil.Args(), "jid", string(call.JID))
	if err := r.host.fire(ctx, runners.Runner.Tag(call.JID)+"/ret", body); err != nil {
		r.log.WithError(err).Debug("fire the event of the refused call")
	}
	var v any = err.Error()
	if docs.Len() > 0 {
		v = docs
	}
	if !r.o.Quiet && r.out.Print(v, "nested", exitOK) != nil {
		return exitGeneric
	}
	return exitOK
}

// show prints an event of the call: the runner's result or its progress (salt/client/mixins.py,
// print_async_event).
func (r *run) show(suffix string, body *data.Map) {
	if r.o.Quiet {
		return
	}
	ret, isMap := body.Value("return").(*data.Map)
	asked, ok := body.Value("outputter").(string)
	if !ok && isMap {
		asked, _ = ret.Value("outputter").(string)
	}
	var v any = data.NewMap("suffix", suffix, "event", body)
	if suffix == "ret" {
		v = body.Value("return")
		if inner, out, ok := withOutputter(v); ok {
			v, asked = inner, out
		}
	}
	code := exitOK
	if body.Value("success") == false {
		code = exitGeneric
	}
	if r.out.Print(v, asked, code) != nil {
		r.failed = true
	}
	_ = r.out.Flush()
}

// withOutputter returns the value of a result that consists only of a value and the name of its
// outputter.
func withOutputter(v any) (inner any, outputter string, ok bool) {
	m, _ := v.(*data.Map)
	if m.Len() != 2 || !m.Has("data") || !m.Has("outputter") {
		return nil, "", false
	}
	return m.Value("data"), data.Str(m.Value("outputter")), true
}

// code returns the exit code of a call (salt/cli/run.py).
func (r *run) code(done *data.Map) int {
	if r.failed {
		return exitGeneric
	}
	var v any = done
	if done.Has("return") && !done.Has("retcode") {
		v = done.Value("return")
	}
	return codeIn(v)
}

// codeIn returns the retcode in a result, or in the data of a result.
func codeIn(v any) int {
	m, _ := v.(*data.Map)
	inner, _ := m.Value("data").(*data.Map)
	for _, from := range []*data.Map{m, inner} {
		if code, ok := from.Get("retcode"); ok {
			n, err := loader.Int(code)
			if err != nil {
				return exitGeneric
			}
			return int(n) & 0xff // exit codes have eight bits
		}
	}
	return exitOK
}
