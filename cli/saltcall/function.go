package saltcall

import (
	"context"
	"os"
	"path/filepath"
	"slices"
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

// function runs the function, prints its result and gives it to the master (salt/cli/caller.py, call and run).
func (r *run) function(ctx context.Context) int {
	fun := r.o.Call.Fun
	if !r.call.Functions().Has(fun) {
		return r.unknown(fun)
	}
	jid := job.NewID(time.Now())
	about := r.about(jid)
	args := loader.WireArgs(r.o.Call.Args, r.o.NoParse...)
	if err := r.misfit(fun, args, about); err != nil {
		return r.fail(err)
	}
	ways, err := r.executors().Names(r.ways())
	if err != nil {
		return r.failed(fun, loader.Result{Err: err})
	}
	file := r.enter(jid, about)
	res := r.executors().Call(loader.WithContext(ctx, &loader.Context{}), ways, loader.YAMLArg(r.o.ExecutorOpts), fun, args, loader.CallOptions{Pub: about})
	if file != "" {
		_ = os.Remove(file) // a file that stays is cleaned by the daemon
	}
	if res.Err != nil {
		return r.failed(fun, res)
	}
	r.lacksRights(res.Value)
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
	return code & 0xff // as the system has it
}

// misfit returns what is wrong with the arguments before the function is called: SaltInvocationError is told in another way when
// it comes from a function.
func (r *run) misfit(fun string, args []any, about *data.Map) error {
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
	return minion.Executors{Opts: r.opts, Functions: r.call.Functions()}
}

// ways returns the executors of the command line, or those of the configuration.
func (r *run) ways() any {
	if typed := loader.YAMLArg(r.o.ModuleExecutors); data.Truth(typed) {
		return typed
	}
	return nil
}

// about returns what functions are told of the call.
func (r *run) about(jid job.ID) *data.Map {
	m := data.NewMap("fun", r.o.Call.Fun, "pid", int64(os.Getpid()), "jid", string(jid), "tgt", "salt-call")
	if r.o.Metadata != "" {
		m.Set("metadata", loader.YAMLArg(r.o.Metadata))
	}
	return m
}

// enter makes the call known to others on the host, by a file among those of jobs; it returns its name.
func (r *run) enter(jid job.ID, about *data.Map) string {
	file := filepath.Join(r.cfg.CacheDir, "proc", string(jid))
	body, err := payload.Marshal(about)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	if err != nil {
		r.out.Tell("Cannot write to process directory. Do you have permissions to write to %s ?\n", file)
		return ""
	}
	return file
}

// unknown tells that a function is not there, or shows the documentation of those whose names begin so.
func (r *run) unknown(fun string) int {
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
	r.out.Tell("%s\n", why)
	return exitNoFunction
}

// lacksRights says so where something failed in a run of states because the program is not root's.
func (r *run) lacksRights(v any) {
	if strings.HasPrefix(r.o.Call.Fun, "state.") && cli.NotRoot() != "" && denied(v) {
		r.log.Warnf("Some of these states may not do what they should: %s", cli.NotRoot())
	}
}

// denied reports whether a comment of a failed state tells of a permission that is missing.
func denied(v any) bool {
	results, _ := v.(*data.Map)
	for _, v := range results.All() {
		ret, ok := v.(*data.Map)
		if ok && ret.Value("result") == false && strings.Contains(strings.ToLower(data.Str(ret.Value("comment"))), "permission denied") {
			return true
		}
	}
	return false
}

// failed tells what went wrong in a function.
func (r *run) failed(fun string, res loader.Result) int {
	switch res.Kind() {
	case loader.KindType, loader.KindInvocation: // SaltInvocationError is a TypeError
		r.out.Tell("\nPassed invalid arguments: %v.\n\nUsage:\n", res.Err)
		if f, ok := r.call.Functions().Func(fun); ok {
			r.out.Printf("%s\n", f.Spec().Docstring())
		}
	case loader.KindExecution:
		r.out.Tell("Error running '%s': %v\n", fun, res.Err)
	case loader.KindNotFound:
		r.out.Tell("Command required for '%s' not found: %v\n", fun, res.Err)
	default:
		r.unhandled(loader.Traceback(res.Err))
	}
	return exitGeneric
}

// unhandled shows an exception that nobody foresaw: as an error in the log, or bare where the log holds no errors.
func (r *run) unhandled(trace string) {
	switch r.opts.Text("log_level") {
	case "quiet", "critical", "fatal":
		r.out.Tell("%s", trace)
		return
	}
	r.out.Log("ERROR", "An un-handled exception was caught by Salt's global exception handler:\n"+strings.TrimSuffix(trace, "\n"))
}

// ret makes the return of a call.
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

// givingTime is how long a returner may take.
const givingTime = time.Minute

// give gives a return to one returner.
func (r *run) give(ctx context.Context, name string, ret *data.Map) error {
	ctx, cancel := context.WithTimeout(ctx, givingTime)
	defer cancel()
	_, err := r.call.Returners().Invoke(ctx, name+".returner", []any{ret}, nil)
	return err
}

// returners reads the option return: a list, or names with commas between them, each of them once.
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
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// cache keeps a return that no master gets on disk, where cache_jobs asks for it (salt/utils/minion.py, cache_jobs).
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
		r.log.WithError(err).Errorf("cache_jobs: the result cannot be kept in %s", file)
	}
}

// deliver gives a return to the returners that are asked for and to the master. What fails is told and no failure.
func (r *run) deliver(ctx context.Context, ret *data.Map) {
	for _, name := range returners(r.opts.Value("return")) {
		ret.Set("success", true)
		if err := r.give(ctx, name, ret); err != nil {
			r.log.WithError(err).Warnf("returner %s", name)
		}
	}
	if r.local() || r.o.NoReturnEvent {
		r.cache(ret)
		return
	}
	if err := r.call.Return(ctx, ret); err != nil && ctx.Err() == nil {
		r.log.WithError(err).Error("the master did not take the result")
	}
}
