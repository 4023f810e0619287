package saltutil

import (
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// running returns the data of all jobs that run on the minion, except this one.
//
// CLI Example:
//
//	salt '*' saltutil.running
func (m jobs) running(ctx context.Context, _ loader.NoArgs) (any, error) {
	loads := []any{}
	for _, t := range m.tasks(ctx) {
		loads = append(loads, t.load)
	}
	return loads, nil
}

type isRunningArgs struct{ Fun string }

// isRunning returns the data of the jobs that run the given function, which may be a pattern.
//
// CLI Example:
//
//	salt '*' saltutil.is_running state.highstate
func (m jobs) isRunning(ctx context.Context, a isRunningArgs) (any, error) {
	loads := []any{}
	for _, t := range m.tasks(ctx) {
		if runs(t.load.Value("fun"), a.Fun) {
			loads = append(loads, t.load)
		}
	}
	return loads, nil
}

// runs reports whether one of the functions of a job matches a pattern. A job has several if they
// were given in one command.
func runs(fun any, pattern string) bool {
	list, ok := fun.([]any)
	if !ok {
		return loader.Glob(pattern, data.Str(fun))
	}
	for _, one := range list {
		if loader.Glob(pattern, data.Str(one)) {
			return true
		}
	}
	return false
}

type jidArgs struct{ Jid any }

// findJob returns the data of a running job: its function and arguments, its process, and who
// submitted it. If the job has ended, or never existed, the result is an empty dictionary.
//
// jid
//
//	The id of the job.
//
// CLI Example:
//
//	salt '*' saltutil.find_job <job id>
func (m jobs) findJob(ctx context.Context, a jidArgs) (any, error) {
	if t, ok := m.task(ctx, a.Jid); ok {
		return t.load, nil
	}
	return data.NewMap(), nil
}

// task returns the job with this id.
func (m jobs) task(ctx context.Context, jid any) (task, bool) {
	for _, t := range m.tasks(ctx) {
		if t.jid() == data.Str(jid) {
			return t, true
		}
	}
	return task{}, false
}

// findCachedJob returns the return of a finished job. The minion keeps returns if its option
// cache_jobs is on.
//
// CLI Example:
//
//	salt '*' saltutil.find_cached_job <job id>
func (m jobs) findCachedJob(_ context.Context, a jidArgs) (any, error) {
	jid := data.Str(a.Jid)
	dir := cached(m.env, "minion_jobs", jid)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || filepath.Base(jid) != jid || !filepath.IsLocal(jid) {
		if !data.Truth(m.env.Option("cache_jobs")) {
			return "Local jobs cache directory not found; you may need to enable cache_jobs on this minion", nil
		}
		return "Local jobs cache directory " + dir + " not found", nil
	}
	path := filepath.Join(dir, "return.p")
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.Exception("FileNotFoundError",
			"[Errno 2] No such file or directory: '%s'", path)
	}
	if len(body) == 0 {
		return nil, nil
	}
	v, err := payload.Unmarshal(body, payload.WireLimits())
	if err != nil {
		return nil, loader.Execution("return of job %s in %s: %w", jid, path, err)
	}
	if ret, ok := v.(*data.Map); ok {
		return ret, nil
	}
	return nil, nil
}
