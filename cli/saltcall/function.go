package saltcall

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// function runs the function, prints its result and gives it to the master (salt/cli/caller.py, call and run).
func (r *run) function(ctx context.Context) int {
	fun := r.o.Call.Fun
	if !r.call.Functions().Has(fun) {
		return r.unknown(fun)
	}
	if err := r.checkExecutors(); err != nil {
		return r.fail(err)
	}
	jid := job.NewID(time.Now())
	about := r.about(jid)
	file := r.enter(jid, about)
	res := r.call.Functions().Call(loader.WithContext(ctx, &loader.Context{}), fun, loader.WireArgs(r.o.Call.Args, r.o.NoParse...), loader.CallOptions{Pub: about})
	if file != "" {
		_ = os.Remove(file) // a file that stays is cleaned by the daemon
	}
	if res.Err != nil {
		return r.failed(fun, res)
	}
	ret := r.ret(jid, about, res)
	r.deliver(ctx, ret)
	value, out := r.shown(ret)
	code := res.Retcode
	if printed := r.print(value, out, code); printed != code {
		return printed
	}
	if code != exitOK && !r.o.RetcodePassthrough {
		return exitGeneric
	}
	return code & 0xff // as the system has it
}

// checkExecutors refuses what would run the function in another way than directly.
func (r *run) checkExecutors() error {
	names := []any{}
	switch v := loader.YAMLArg(r.o.ModuleExecutors).(type) {
	case []any:
		names = v
	case string:
		if v != "" {
			names = []any{v}
		}
	}
	for _, name := range names {
		if name != "direct_call" {
			return fmt.Errorf("Executor '%s' is not available", data.Str(name)) //nolint:staticcheck // Salt's text
		}
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
	r.out.Tell("%s\n", why)
	return exitNoFunction
}

// failed tells what went wrong in a function.
func (r *run) failed(fun string, res loader.Result) int {
	switch res.Kind() {
	case loader.KindType:
		r.out.Tell("\nPassed invalid arguments: %v.\n\nUsage:\n", res.Err)
		if f, ok := r.call.Functions().Func(fun); ok {
			r.out.Printf("%s\n", f.Spec().Doc)
		}
	case loader.KindExecution:
		r.out.Tell("Error running '%s': %v\n", fun, res.Err)
	case loader.KindNotFound:
		r.out.Tell("Command required for '%s' not found: %v\n", fun, res.Err)
	case loader.KindInvocation:
		r.out.Tell("%v\n", res.Err)
	default:
		r.out.Log("ERROR", "An un-handled exception was caught by Salt's global exception handler:\n"+strings.TrimSuffix(loader.Traceback(res.Err), "\n"))
	}
	return exitGeneric
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

// deliver gives a return to the returners that are asked for and to the master. What fails is told and no failure.
func (r *run) deliver(ctx context.Context, ret *data.Map) {
	for _, name := range returners(r.opts.Value("return")) {
		ret.Set("success", true)
		if err := r.give(ctx, name, ret); err != nil {
			r.log.WithError(err).Warnf("returner %s", name)
		}
	}
	if r.local() || r.o.NoReturnEvent {
		return
	}
	if err := r.call.Return(ctx, ret); err != nil && ctx.Err() == nil {
		r.log.WithError(err).Error("the master did not take the result")
	}
}
