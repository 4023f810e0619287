package saltcall

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/payload"
)

// function runs the function, prints its result and sends it to the master (salt/cli/caller.py,
// call and run).
func (r *run) function(ctx context.Context) int {
	fun := r.o.Call.Fun
	if !r.call.Functions().Has(fun) {
		return r.reportUnknown(fun)
	}
	jid := job.NewID(time.Now())
	about := r.about(jid)
	args := loader.WireArgs(r.o.Call.Args, r.o.NoParse...)
	if err := r.checkArguments(fun, args, about); err != nil {
		return r.fail(err)
	}
	executorNames, err := r.executors().Names(r.executorNames())
	if err != nil {
		return r.reportError(fun, loader.Result{Err: err})
	}
	file := r.registerCall(jid, about)
	res := r.executors().Call(loader.WithContext(ctx, &loader.Context{}), executorNames,
		loader.YAMLArg(r.o.ExecutorOpts), fun, args, loader.CallOptions{Pub: about})
	if file != "" {
		_ = os.Remove(file) // the daemon cleans up a file that stays
	}
	if res.Err != nil {
		return r.reportError(fun, res)
	}
	r.logMissingRights(res.Value)
	ret := r.ret(jid, about, res)
	r.deliver(ctx, ret)
	value, out := r.shown(ret)
	r.out.KeepOrder(res.Ordered && !r.o.PrintMetadata)
	code := res.Retcode
	if printed := r.print(value, out, code); printed != code {
		return printed
	}
	if code != exitOK && !r.o.RetcodePassthrough {
		return exitGeneric
	}
	return code & 0xff // exit codes have eight bits
}

// checkArguments checks the arguments before the function is called, because a SaltInvocationError
// raised by a function is reported differently.
func (r *run) checkArguments(fun string, args []any, about *data.Map) error {
	f, ok := r.call.Functions().Func(fun)
	if !ok {
		return nil
	}
	_, _, err := f.Spec().Split(args, about)
	if loader.KindOf(err) != loader.KindInvocation {
		return nil
	}
	return err
}

func (r *run) executors() minion.Executors {
	return minion.Executors{Opts: r.opts, Functions: r.call.Functions(),
		Own: r.call.Plugins("executors"), Alone: true}
}

// executorNames returns the executors of the command line, or the configured ones.
func (r *run) executorNames() any {
	asked := r.opts.Value("module_executors")
	if text, ok := asked.(string); ok {
		asked = loader.YAMLArg(text)
	}
	if !data.Truth(asked) {
		return nil
	}
	return asked
}

// about returns the description of the call that functions receive.
func (r *run) about(jid job.ID) *data.Map {
	m := data.NewMap("fun", r.o.Call.Fun, "pid", int64(os.Getpid()), "jid", string(jid),
		"tgt", "salt-call")
	if r.o.Metadata != "" {
		m.Set("metadata", loader.YAMLArg(r.o.Metadata))
	}
	return m
}

// registerCall registers the call on the host by a file among those of running jobs. It returns the
// file's name.
func (r *run) registerCall(jid job.ID, about *data.Map) string {
	file := filepath.Join(r.cfg.CacheDir, "proc", string(jid))
	body, err := payload.Marshal(about)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	if err != nil {
		r.out.PrintErr("Cannot write to process directory. Do you have permissions to write to %s ?\n", file)
		return ""
	}
	return file
}

// reportUnknown reports that a function does not exist, or shows the documentation of those whose
// names begin with it.
func (r *run) reportUnknown(fun string) int {
	functions := r.call.Functions()
	why := functions.MissingText(fun)
	if docs := functions.Docs(fun + "*"); docs.Len() > 0 {
		docs.Set(fun, why)
		r.print(docs, "nested", exitOK)
		return exitGeneric
	}
	if near := config.Nearest(fun, functions.Names()); near != "" {
		why += "\nIs '" + near + "' meant?"
	}
	r.out.PrintErr("%s\n", why)
	return exitNoFunction
}

// logMissingRights logs that states may have failed because the program does not run as root.
func (r *run) logMissingRights(v any) {
	if strings.HasPrefix(r.o.Call.Fun, "state.") && cli.NotRoot() != "" && denied(v) {
		r.log.Warnf("Some of these states may not do what they should: %s", cli.NotRoot())
	}
}

// denied reports whether a failed state's comment mentions a missing permission.
func denied(v any) bool {
	results, _ := v.(*data.Map)
	for _, v := range results.All() {
		ret, ok := v.(*data.Map)
		if ok && ret.Value("result") == false &&
			strings.Contains(strings.ToLower(data.Str(ret.Value("comment"))), "permission denied") {
			return true
		}
	}
	return false
}

// reportError reports an error of a function.
func (r *run) reportError(fun string, res loader.Result) int {
	if exit, ok := errors.AsType[*loader.ExitError](res.Err); ok {
		return exit.Code & 0xff
	}
	switch res.Kind() {
	case loader.KindType, loader.KindInvocation: // SaltInvocationError is a TypeError
		r.out.PrintErr("\nPassed invalid arguments: %v.\n\nUsage:\n", res.Err)
		if f, ok := r.call.Functions().Func(fun); ok {
			r.out.Printf("%s\n", cmp.Or(f.Spec().Docstring(), "None"))
		}
	case loader.KindExecution:
		r.out.PrintErr("Error running '%s': %v\n", fun, res.Err)
	case loader.KindNotFound:
		r.out.PrintErr("Command required for '%s' not found: %v\n", fun, res.Err)
	default:
		r.out.Unhandled(loader.Traceback(res.Err))
	}
	return exitGeneric
}

// ret builds the return of a call.
func (r *run) ret(jid job.ID, about *data.Map, res loader.Result) *data.Map {
	ret := data.NewMap("jid", string(jid), "return", res.Value, "retcode", int64(res.Retcode))
	if res.Out != "" {
		ret.Set("out", res.Out)
	}
	ret.Set("id", r.cfg.ID)
	ret.Set("fun", r.o.Call.Fun)
	ret.Set("fun_args", r.opts.Value("arg"))
	if v, ok := about.Get("metadata"); ok {
		ret.Set("metadata", v)
	}
	return ret
}

// returnerTimeout is the timeout of a returner.
const returnerTimeout = time.Minute

// sendTo sends a return to one returner.
func (r *run) sendTo(ctx context.Context, name string, ret *data.Map) error {
	ctx, cancel := context.WithTimeout(ctx, returnerTimeout)
	defer cancel()
	_, err := r.call.Returners().Invoke(ctx, name+".returner", []any{ret}, nil)
	return err
}

// returners reads the option return: a list, or comma-separated names. As in Salt, one that is named
// twice gets the result twice.
func returners(option any) []string {
	given, isList := option.([]any)
	if !isList {
		given = []any{option}
	}
	var names []string
	for _, v := range given {
		if v == nil {
			continue
		}
		for name := range strings.SplitSeq(data.Str(v), ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// cache stores a return that no master gets on disk if cache_jobs is set (salt/utils/minion.py,
// cache_jobs).
func (r *run) cache(ret *data.Map) {
	if !r.cfg.CacheJobs {
		return
	}
	file := filepath.Join(r.cfg.CacheDir, "minion_jobs", ret.Text("jid"), "return.p")
	body, err := payload.Marshal(ret)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	if err != nil {
		r.log.WithError(err).Errorf("write the result to %s (cache_jobs)", file)
	}
}

// deliver sends a return to the requested returners and to the master. Errors are logged and do not
// fail the call.
func (r *run) deliver(ctx context.Context, ret *data.Map) {
	for _, name := range returners(r.opts.Value("return")) {
		ret.Set("success", true)
		if err := r.sendTo(ctx, name, ret); err != nil {
			r.log.WithError(err).Warnf("send the result to returner %s", name)
		}
	}
	if r.local() || r.o.NoReturnEvent {
		r.cache(ret)
		return
	}
	if err := r.call.Return(ctx, ret); err != nil && ctx.Err() == nil {
		r.log.WithError(err).Error("send the result to the master")
	}
}
