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

// stateRuns are the functions whose failed states are announced one by one (salt/utils/event.py, SUB_EVENT).
var stateRuns = []string{"state.highstate", "state.sls"}

// announceFailures fires events for each failed state of the state runs in a return (salt/utils/event.py,
// fire_ret_load).
func (r *returning) announceFailures(jid job.ID, id string, load payload.Fields) {
	if fun, ok := load.Text("fun"); ok {
		if code, _ := load.Int("retcode"); code != 0 && slices.Contains(stateRuns, fun) {
			r.announceRun(jid, id, fun, code, load.Value("return"), load)
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
			r.announceRun(jid, id, fun, code, oneOf(returns, i, fun), load)
		}
	}
}

// oneOf returns what a result of several functions has for one of them: by its place or by its name.
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

func (r *returning) announceRun(jid job.ID, id, fun string, code int64, value any, load payload.Fields) {
	chunks, _ := value.(*data.Map)
	for key, v := range chunks.All() {
		chunk, ok := v.(*data.Map)
		name, isText := key.(string)
		if ok && isText && chunk.Value("result") == false {
			r.announceFailure(jid, id, fun, name, code, chunk, load)
		}
	}
}

// announceFailure fires the events of one failed state. The minion chose the name of the state, and thereby the tag of
// the first: one that it must not use is left out.
func (r *returning) announceFailure(jid job.ID, id, fun, name string, code int64, chunk *data.Map, load payload.Fields) {
	parts := strings.Split(name, "_|-")
	tag := parts[0] + "." + parts[len(parts)-1]
	chunk = chunk.Clone()
	chunk.Set("retcode", code)
	err := checkTag(id, tag)
	if err == nil {
		err = r.bus.Fire(tag, chunk)
	}
	for _, f := range [][2]any{{"jid", string(jid)}, {"id", id}, {"success", false}, {"return", "Error: " + tag}, {"fun", fun}} {
		chunk.Set(f[0], f[1])
	}
	if user, ok := load.Text("user"); ok {
		chunk.Set("user", user)
	}
	if err := errors.Join(err, r.bus.Fire(eventbus.Tagify("job", string(jid), "sub", id, "error", fun), chunk)); err != nil {
		r.log.WithError(err).Errorf("announce failed state of minion %s in job %s", id, jid)
	}
}
