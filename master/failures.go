package master

import (
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// stateRuns are the functions whose failed states are announced individually (salt/utils/event.py,
// SUB_EVENT).
var stateRuns = []string{"state.highstate", "state.sls"}

// announceFailures fires events for each failed state in a return (salt/utils/event.py,
// fire_ret_load).
func (r *returning) announceFailures(jid job.ID, id string, load payload.Fields) {
	if fun, ok := load.Text("fun"); ok {
		if code, _ := load.Int("retcode"); code != 0 && slices.Contains(stateRuns, fun) {
			run := stateRun{jid: jid, minion: id, fun: fun, retcode: code, load: load}
			r.announceRun(run, load.Value("return"))
		}
		return
	}
	funs, _ := load.Value("fun").([]any)
	if !slices.ContainsFunc(funs, func(f any) bool { return slices.Contains(stateRuns, data.Str(f)) }) {
		return
	}
	codes, returns := load.Value("retcode"), load.Value("return")
	for i, f := range funs {
		fun, _ := f.(string)
		if code, _ := oneOf(codes, i, fun).(int64); code != 0 && slices.Contains(stateRuns, fun) {
			run := stateRun{jid: jid, minion: id, fun: fun, retcode: code, load: load}
			r.announceRun(run, oneOf(returns, i, fun))
		}
	}
}

// oneOf returns the result of one function from a return of several: by position or by name.
func oneOf(all any, i int, fun string) any {
	switch all := all.(type) {
	case []any:
		if i < len(all) {
			return all[i]
		}
	case *data.Map:
		return all.Value(fun)
	}
	return nil
}

// A stateRun is a failed state run in a return.
type stateRun struct {
	jid     job.ID
	minion  string
	fun     string
	retcode int64
	load    payload.Fields // the whole return
}

// announceRun fires events for each failed state in the result of a state run.
func (r *returning) announceRun(run stateRun, value any) {
	chunks, _ := value.(*data.Map)
	for key, v := range chunks.All() {
		chunk, ok := v.(*data.Map)
		name, isText := key.(string)
		if ok && isText && chunk.Value("result") == false {
			r.announceFailure(run, name, chunk)
		}
	}
}

// announceFailure fires the events of one failed state. The name of the state, which the minion
// chose, determines the tag of the first event. It is not fired if the minion must not use that
// tag.
func (r *returning) announceFailure(run stateRun, name string, chunk *data.Map) {
	parts := strings.Split(name, "_|-")
	tag := parts[0] + "." + parts[len(parts)-1]
	chunk = chunk.Clone()
	chunk.Set("retcode", run.retcode)
	err := checkTag(run.minion, tag)
	if err == nil {
		err = r.bus.FireHere(tag, chunk)
	}
	chunk.Set("jid", string(run.jid))
	chunk.Set("id", run.minion)
	chunk.Set("success", false)
	chunk.Set("return", "Error: "+tag)
	chunk.Set("fun", run.fun)
	if user, ok := run.load.Text("user"); ok {
		chunk.Set("user", user)
	}
	tag = eventbus.Tagify("job", string(run.jid), "sub", run.minion, "error", run.fun)
	if err := errors.Join(err, r.bus.FireHere(tag, chunk)); err != nil {
		r.log.WithError(err).Errorf("announce failed state of minion %s in job %s",
			run.minion, run.jid)
	}
}
