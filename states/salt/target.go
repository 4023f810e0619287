package salt

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A target holds the arguments that salt.state and salt.function share.
type target struct {
	tgt, tgtType, ssh, roster any
	ret, retConfig, retKwargs any
	expect, timeout           any
	batch, subset, failhard   any
}

// noSSH is the message for jobs over ssh, which are not supported.
const noSSH = "ssh: True needs salt-ssh, which is not supported: target minions instead"

// order returns the keyword arguments of saltutil.cmd.
func (m *module) order(t target, arg []any, kwarg *data.Map) *data.Map {
	o := data.NewMap("arg", arg, "kwarg", kwarg, "ret", t.ret, "timeout", t.timeout,
		"tgt_type", t.tgtType, "ssh", t.ssh, "expect_minions", t.expect)
	for name, v := range data.NewMap("ret_config", t.retConfig, "ret_kwargs", t.retKwargs).All() {
		if data.Truth(v) {
			o.Set(name, v)
		}
	}
	if t.roster != nil {
		o.Set("roster", t.roster)
	}
	if t.batch != nil {
		o.Set("batch", data.Str(t.batch))
	}
	if t.subset != nil {
		o.Set("subset", t.subset)
	}
	if t.failhard == true || data.Truth(m.env.Option("failhard")) {
		o.Set("failhard", true)
	}
	return o
}

// send runs a job on minions and returns their returns. It first fires an event for those who watch
// the orchestration.
func (m *module) send(
	ctx context.Context, kind string, name any, fun string, t target, order *data.Map,
) (*data.Map, error) {
	m.fireArgs(ctx, data.NewMap("type", kind, "tgt", t.tgt, "name", name, "args", order))
	v, err := m.env.Call(ctx, "saltutil.cmd", []any{t.tgt, fun}, order)
	if err != nil {
		return nil, err
	}
	answers, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("saltutil.cmd returned %s", loader.TypeName(v))
	}
	return answers, nil
}

// fireArgs fires the event with the arguments of one step of an orchestration (salt/utils/event.py,
// fire_args).
func (m *module) fireArgs(ctx context.Context, body *data.Map) {
	jid := change.CallOf(ctx).Orchestration
	if jid == "" || m.env.Host.FireMaster == nil {
		m.env.Log.Debug("Unable to fire args event due to missing __orchestration_jid__")
		return
	}
	tag := eventbus.Tagify("run", jid, "args")
	if err := m.env.Host.FireMaster(ctx, tag, body); err != nil {
		m.env.Log.Warnf("Failed to fire args event %s with data %s: %v", tag, data.Repr(body), err)
	}
}

// jobOf returns the job ID from the first return.
func jobOf(answers *data.Map) (any, bool) {
	for _, v := range answers.All() {
		answer, _ := v.(*data.Map)
		return answer.Get("jid")
	}
	return nil, false
}

// value returns the return value of a minion. ok is false if there is none.
func value(answer *data.Map) (v any, ok bool) {
	if v, ok = answer.Get("ret"); !ok {
		v, ok = answer.Get("return")
	}
	return v, ok
}

// noList is the warning for an invalid fail_minions.
const noList = "'fail_minions' needs to be a list or a comma separated string. Ignored."

// mayFail parses the minions whose failures are ignored. warning is set if the value is invalid.
func mayFail(v any) (ids []string, warning string) {
	switch v := v.(type) {
	case nil:
		return nil, ""
	case string:
		for id := range strings.SplitSeq(v, ",") {
			ids = append(ids, strings.TrimSpace(id))
		}
		return ids, ""
	case []any:
		for _, id := range v {
			ids = append(ids, data.Str(id))
		}
		return ids, ""
	}
	return nil, noList
}

// warn adds a warning to a result.
func warn(ret *data.Map, text string) {
	if text == "" {
		return
	}
	list, _ := ret.Value("warnings").([]any)
	ret.Set("warnings", append(list, text))
}
