package thorium

import (
	"context"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func (t *thorium) keyFunctions(env *loader.Env) []loader.Func {
	return []loader.Func{loader.F("timeout", func(ctx context.Context, a timeoutArgs) (any, error) {
		return t.timeout(ctx, env, a)
	})}
}

type timeoutArgs struct {
	Name   any
	Delete any `default:"0"`
	Reject any `default:"0"`
}

// timeout deletes or rejects the keys of minions without a status for so many seconds. A minion whose
// status never came counts from the first round with this function. It needs status.reg.
func (t *thorium) timeout(ctx context.Context, env *loader.Env, a timeoutArgs) (any, error) {
	if t.host.Minions == nil {
		return change.Failed(a.Name, "there is no master"), nil
	}
	accepted, err := t.host.Minions.Accepted()
	if err != nil {
		return change.Failed(a.Name, "list keys: "+err.Error()), nil
	}
	remove, reject, ok := t.reg.silent(accepted, a)
	if !ok {
		return change.Failed(a.Name, notIn(statusName)), nil
	}
	changes := data.NewMap()
	if change.Test(ctx) {
		return change.New(a.Name, nil, nil, ""), nil
	}
	for _, id := range remove {
		if err := t.host.Minions.DeleteKey(ctx, id); err != nil {
			return change.New(a.Name, false, changes, "delete the key of "+id+": "+err.Error()), nil
		}
		t.reg.forget(id)
		changes.Set(id, "deleted")
	}
	for _, id := range reject {
		if err := rejectKey(ctx, env, id); err != "" {
			return change.New(a.Name, false, changes, "reject the key of "+id+": "+err), nil
		}
		t.reg.forget(id)
		changes.Set(id, "rejected")
	}
	return change.New(a.Name, true, changes, ""), nil
}

// rejectKey rejects a key, and returns the error as a text. It names the id as it is: key.reject takes
// patterns.
func rejectKey(ctx context.Context, env *loader.Env, id string) string {
	if env.Host.Control == nil {
		return "there is no master"
	}
	done := env.Host.Control(ctx, "wheel", loader.MasterCall{Fun: "key.reject_dict",
		Args:   []any{data.NewMap("minions", []any{id})},
		Kwargs: data.NewMap("include_accepted", true), User: env.Opts.Text("user")})
	if done.Value("success") != true {
		return data.Str(done.Value("return"))
	}
	return ""
}

// silent returns the minions without a status for too long. It notes those without any. ok is false
// without an entry for the status of minions.
func (r *register) silent(accepted []string, a timeoutArgs) (remove, reject []string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, _ := r.value(statusName)
	minions, ok := v.(*data.Map)
	if !ok {
		return nil, nil, false
	}
	now := r.now()
	for id := range r.missed {
		if !slices.Contains(accepted, id) {
			delete(r.missed, id)
		}
	}
	for _, id := range accepted {
		since := now
		if entry, ok := minions.Value(id).(*data.Map); ok {
			at, _ := number(entry.Value("recv_time"))
			since = time.UnixMicro(int64(at * 1e6))
		} else if first, ok := r.missed[id]; ok {
			since = first
		} else {
			r.missed[id] = now
		}
		switch gone := now.Sub(since).Seconds(); {
		case exceeds(gone, a.Delete):
			remove = append(remove, id)
		case exceeds(gone, a.Reject):
			reject = append(reject, id)
		}
	}
	return remove, reject, true
}

func exceeds(gone float64, limit any) bool {
	n, ok := number(limit)
	return ok && n > 0 && gone > n
}

// forget forgets the status of a minion.
func (r *register) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.missed, id)
	if v, _ := r.value(statusName); v != nil {
		if minions, ok := v.(*data.Map); ok {
			minions.Delete(id)
		}
	}
}
