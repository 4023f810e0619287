package runner

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
)

// tell fires the event of a chunk that has a result, and adds the results of the states that it ran itself (sub_state_run).
func (w *walk) tell(ctx context.Context, low *data.Map) {
	ret := w.result(tagOf(low))
	if ret == nil {
		return
	}
	w.r.event(ctx, ret, low, len(w.chunks))
	subs := listOf(ret.Value("sub_state_run"))
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	ret.Delete("sub_state_run")
	for _, v := range subs {
		if sub, ok := v.(*data.Map); ok {
			w.sub(low, sub)
		}
	}
}

func (w *walk) sub(low, sub *data.Map) {
	of, ok := sub.Value("low").(*data.Map)
	if !ok {
		return
	}
	w.r.number++
	ret := data.NewMap("name", of.Value("name"), "changes", sub.Value("changes"), "result", sub.Value("result"))
	for key, standard := range data.NewMap("duration", 0.0, "start_time", timeOfDay(time.Now()), "comment", "").All() {
		if v, ok := sub.Get(key); ok {
			standard = v
		}
		ret.Set(key, standard)
	}
	ret.Set("__state_ran__", true)
	ret.Set("__run_num__", w.r.number)
	w.results.Set(tagOf(of), identify(ret, low))
}

// event tells the master of a result: of each where the option state_events says so, else of those with fire_event
// (salt/state.py, State.event). What cannot be sent is in the log of event.fire_master.
func (r *Runner) event(ctx context.Context, ret, low *data.Map, of int) {
	fire := low.Value("fire_event")
	progress, ok := r.env.Opts.Get("state_events")
	if r.o.JID == "" || data.Truth(r.env.Option("local")) || ok && !data.Truth(progress) && !data.Truth(fire) {
		return
	}
	body, id := data.NewMap("ret", r.copied(ret)), data.Str(r.env.Option("id"))
	tag := "salt/state_result/" + r.o.JID + "/" + id + "/"
	switch name, isText := fire.(string); {
	case fire == true:
		tag += data.Str(ret.Value("name"))
	case isText:
		tag += name
	default:
		tag = "salt/job/" + r.o.JID + "/prog/" + id + "/" + data.Str(ret.Value("__run_num__"))
		body.Set("len", int64(of))
	}
	if r.env.Option("__role") == "master" && r.env.Host.FireMaster != nil { // an orchestration: the bus is here
		if err := r.env.Host.FireMaster(ctx, tag, body); err != nil {
			r.env.Log.Warnf("fire event %s: %v", tag, err)
		}
		return
	}
	if _, err := r.env.Call(ctx, "event.fire_master", []any{body, tag}, data.NewMap("preload", data.NewMap("jid", r.o.JID))); err != nil {
		r.env.Log.Warnf("fire event %s: %v", tag, err)
	}
}

// copied returns a copy of a result, which may change while its event waits to be sent.
func (r *Runner) copied(ret *data.Map) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	return data.Clone(ret).(*data.Map)
}
