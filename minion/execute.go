package minion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// newReturn returns a return of the job without a result (salt/minion.py, _thread_return).
func (j *jobs) newReturn(pub *job.Publication) *job.Return {
	load := pub.Map()
	ret := &job.Return{ID: j.id, JID: pub.JID, User: pub.User, MasterID: pub.MasterID,
		Fun: load.Value("fun"), FunArgs: load.Value("arg")}
	switch meta := pub.Metadata.(type) {
	case nil:
	case *data.Map:
		ret.Metadata = meta
	default:
		j.log.Warn("The metadata parameter must be a dictionary. Ignoring.")
	}
	return ret
}

// execute calls the functions of a publication and returns the job's return.
func (j *jobs) execute(r *running) *job.Return {
	j.log.Infof("Starting a new job %s with PID %d", r.pub.JID, os.Getpid())
	ctx, scope := loader.WithScope(loader.WithContext(r.ctx, &loader.Context{}))
	r.ctx = ctx
	defer j.closeScope(r, scope)
	j.prepare(r)
	ret := j.newReturn(r.pub)
	if r.pub.Multi {
		outs := make([]loader.Result, len(r.pub.Fun))
		for i, fun := range r.pub.Fun {
			var arg []any
			if i < len(r.pub.Arg) {
				arg, _ = r.pub.Arg[i].([]any)
			}
			outs[i] = j.call(r, fun, arg)
		}
		j.setResults(ret, r.pub.Fun, outs)
		ret.Notify(loader.ContextOf(r.ctx).Notices())
		return ret
	}
	out := j.call(r, r.pub.Fun[0], r.pub.Arg)
	ret.Value, ret.Retcode, ret.Success, ret.Out = out.Value, int64(out.Retcode),
		out.Success, out.Out
	ret.Notify(loader.ContextOf(r.ctx).Notices())
	return ret
}

// closeScope closes what the functions of a job have kept for it.
func (j *jobs) closeScope(r *running, scope *loader.Scope) {
	if err := scope.Close(); err != nil {
		j.log.WithError(err).Warnf("close resources of job %s", r.pub.JID)
	}
}

// setResults sets the results of several functions: dictionaries by function, or lists if
// multifunc_ordered is on.
func (j *jobs) setResults(ret *job.Return, funs []string, outs []loader.Result) {
	values, codes, successes := data.NewMap(), data.NewMap(), data.NewMap()
	lists := [3][]any{{}, {}, {}}
	for i, out := range outs {
		values.Set(funs[i], out.Value)
		codes.Set(funs[i], int64(out.Retcode))
		successes.Set(funs[i], out.Success)
		for k, v := range []any{out.Value, int64(out.Retcode), out.Success} {
			lists[k] = append(lists[k], v)
		}
	}
	ret.Value, ret.Retcode, ret.Success = values, codes, successes
	if data.Truth(j.settings.saltOptions().Value("multifunc_ordered")) {
		ret.Value, ret.Retcode, ret.Success = lists[0], lists[1], lists[2]
	}
}

// prepare reloads modules before sys.reload_modules and collects the grains if
// grains_refresh_pre_exec is on.
func (j *jobs) prepare(r *running) {
	if !r.pub.Multi && r.pub.Fun[0] == "sys.reload_modules" {
		j.m.reload()
	}
	if data.Truth(j.settings.saltOptions().Value("grains_refresh_pre_exec")) {
		if _, err := j.m.facts.refresh(r.ctx); err != nil {
			j.log.WithError(err).Errorf("grains_refresh_pre_exec: collect grains before job %s",
				r.pub.JID)
		}
	}
}

// call runs one function. A panic fails the function, not the minion.
func (j *jobs) call(r *running, fun string, arg []any) (out loader.Result) {
	defer func() {
		if p := recover(); p != nil {
			j.log.Errorf("panic in function %s of job %s: %v\n%s", fun, r.pub.JID, p, debug.Stack())
			out = loader.Result{Value: fmt.Sprintf("The minion function caused an exception: %v",
				p), Retcode: 1, Out: "nested"}
		}
	}()
	if text := j.refusal(r, fun); text != "" {
		j.log.Errorf("Problem executing '%s': %s", fun, text)
		return loader.Result{Value: fmt.Sprintf("ERROR executing '%s': %s", fun, text), Retcode: 1,
			Out: "nested"}
	}
	j.m.funcs.Retry() // as in Salt, where each job loads the modules that it needs
	out = j.executors().Call(r.ctx, j.executorNames(r), r.pub.ExecutorOpts, fun, arg,
		loader.CallOptions{
			Pub:      r.describe(),
			Progress: func(n int, value any) { j.progress(r, n, value) },
		})
	if errors.Is(out.Err, errStopped) {
		return loader.Result{Value: textInterrupted, Retcode: 1, Out: "nested", Err: out.Err}
	}
	j.logError(r.ctx, fun, out)
	return out
}

// logError logs the error of a function as Salt's minion does, and fires _salt_error for unexpected
// exceptions.
func (j *jobs) logError(ctx context.Context, fun string, out loader.Result) {
	if out.Err == nil {
		return
	}
	switch out.Kind() {
	case loader.KindMissing:
	case loader.KindNotFound:
		j.log.WithError(out.Err).Debugf("Command required for '%s' not found", fun)
	case loader.KindExecution:
		j.log.Errorf("A command in '%s' had a problem: %v", fun, out.Err)
	case loader.KindInvocation:
		j.log.Errorf("Problem executing '%s': %v", fun, out.Err)
	case loader.KindType:
		j.log.Warnf("Passed invalid arguments to %s: %v", fun, out.Err)
	default:
		j.log.Warnf("The minion function caused an exception: %v", out.Err)
		event := data.NewMap("message", "The minion function caused an exception",
			"args", []any{"The minion function caused an exception"})
		if err := j.m.bus.Fire("_salt_error", event); err != nil {
			j.log.WithError(err).Error("fire event about an exception")
		}
	}
}

// progress sends the master one element of the result of a running function.
func (j *jobs) progress(r *running, n int, value any) {
	if r.link == nil {
		return
	}
	tag := fmt.Sprintf("salt/job/%s/prog/%s/%d", r.pub.JID, j.id, n)
	err := r.link.fire(r.ctx, tag, data.NewMap("return", value))
	if err != nil && r.ctx.Err() == nil {
		j.log.WithError(err).Errorf("send progress of job %s to the master", r.pub.JID)
	}
}

// refusal returns the reason why an available function must not run now, or "" (salt/minion.py,
// _execute_job_function).
func (j *jobs) refusal(r *running, fun string) string {
	switch {
	case !j.m.funcs.Has(fun):
		return ""
	case j.blackedOut(fun):
		return "Minion in blackout mode. Set 'minion_blackout' to False in pillar or grains to resume operations. Only " +
			"saltutil.refresh_pillar allowed in blackout mode."
	}
	if r.own {
		return ""
	}
	if _, err := j.executors().Names(j.requestedExecutors(r.pub)); err != nil {
		return err.Error()
	}
	return ""
}

// blackedOut reports whether the blackout mode of pillar or grains forbids fun.
func (j *jobs) blackedOut(fun string) bool {
	return blackout(j.m.Pillar(), fun) || blackout(j.m.Grains(), fun)
}

func blackout(facts *data.Map, fun string) bool {
	if !data.Truth(facts.Value("minion_blackout")) || fun == "saltutil.refresh_pillar" {
		return false
	}
	switch allowed := facts.Value("minion_blackout_whitelist").(type) {
	case []any:
		return !slices.Contains(allowed, any(fun))
	case string:
		return !strings.Contains(allowed, fun)
	}
	return true
}

func (j *jobs) executors() Executors {
	return Executors{Opts: j.settings.saltOptions(), Functions: j.m.funcs,
		Own: j.m.env.Registries["executors"]}
}

// executorNames returns the names of a job's executors. Jobs that the minion starts itself are
// called directly.
func (j *jobs) executorNames(r *running) []string {
	if r.own {
		return []string{"direct_call"}
	}
	names, err := j.executors().Names(j.requestedExecutors(r.pub))
	if err != nil {
		return []string{"direct_call"} // the function does not exist
	}
	return names
}

// requestedExecutors returns module_executors of the job or, if it has none, of the options. With
// sudo_user set, sudo replaces the last one.
func (j *jobs) requestedExecutors(pub *job.Publication) any {
	asked := pub.ModuleExecutors
	if !data.Truth(asked) {
		asked = j.settings.saltOptions().Value("module_executors")
	}
	if !data.Truth(j.settings.saltOptions().Value("sudo_user")) {
		return asked
	}
	list, ok := asked.([]any)
	if !ok || len(list) == 0 {
		return []any{"sudo"}
	}
	return append(slices.Clone(list[:len(list)-1]), "sudo")
}

// cache writes a return to disk if cache_jobs is on (salt/utils/minion.py, cache_jobs).
func (j *jobs) cache(ret *job.Return) {
	if !j.settings.config().CacheJobs {
		return
	}
	body, err := payload.Marshal(onHost(ret))
	file := filepath.Join(j.m.cfg.CacheDir, "minion_jobs", string(ret.JID), "return.p")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	if err != nil {
		j.log.WithError(err).Errorf("cache_jobs: write return of job %s", ret.JID)
	}
}

// onHost returns a return as functions of the minion see it, without the command for the master.
func onHost(ret *job.Return) *data.Map {
	m := ret.Map()
	m.Delete("cmd")
	return m
}
