package runner

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// finish fires the event of a chunk that has a result, and adds the results of the states that the
// chunk ran itself (sub_state_run).
func (w *walk) finish(ctx context.Context, low state.Chunk) {
	ret := w.result(low.Tag())
	if ret == nil {
		return
	}
	w.r.event(ctx, ret, low, len(w.chunks))
	subs := data.ListOf(ret.Value("sub_state_run"))
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	ret.Delete("sub_state_run")
	for _, v := range subs {
		if sub, ok := v.(*data.Map); ok {
			w.sub(low, sub)
		}
	}
}

func (w *walk) sub(low state.Chunk, sub *data.Map) {
	m, ok := sub.Value("low").(*data.Map)
	if !ok {
		return
	}
	of := state.Chunk{Map: m}
	w.r.number++
	ret := data.NewMap("name", of.Name(), "changes", sub.Value("changes"),
		"result", sub.Value("result"))
	for key, standard := range data.NewMap("duration", 0.0, "start_time", timeOfDay(time.Now()),
		"comment", "").All() {
		if v, ok := sub.Get(key); ok {
			standard = v
		}
		ret.Set(key, standard)
	}
	ret.Set("__state_ran__", true)
	ret.Set("__run_num__", w.r.number)
	w.results.Set(of.Tag(), setIdentity(ret, low))
}

// event sends a result to the master. With the option state_events it sends every result, otherwise
// only those with fire_event (salt/state.py, State.event). Failures are logged.
func (r *Runner) event(ctx context.Context, ret *data.Map, low state.Chunk, of int) {
	fire := low.Value("fire_event")
	progress, ok := r.env.Opts.Get("state_events")
	if r.o.JID == "" || data.Truth(r.env.Option("local")) || ok && !data.Truth(progress) &&
		!data.Truth(fire) {
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
	// orchestration: fire on the local bus
	if r.env.Option("__role") == "master" && r.env.Host.FireMaster != nil {
		if err := r.env.Host.FireMaster(ctx, tag, body); err != nil {
			r.env.Log.Warnf("fire event %s: %v", tag, err)
		}
		return
	}
	if _, err := r.env.Call(ctx, "event.fire_master", []any{body, tag},
		data.NewMap("preload", data.NewMap("jid", r.o.JID))); err != nil {
		r.env.Log.Warnf("fire event %s: %v", tag, err)
	}
}

// copied returns a copy of a result, which may change before its event is sent.
func (r *Runner) copied(ret *data.Map) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	return data.Clone(ret).(*data.Map)
}
