package service

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type maskArgs struct {
	Name    string
	Runtime bool `default:"False"`
}

// masked has nothing be able to start a service. There are masks with systemd only.
//
// runtime
//
//	True: until the next boot. The lasting mask and this one have nothing to do with one another.
//
//	cups:
//	  service.masked
func (m *module) masked(ctx context.Context, a maskArgs) (any, error) { return m.mask(ctx, a, true) }

// unmasked takes the mask of a service away. There are masks with systemd only.
//
// runtime
//
//	True: that until the next boot. The lasting mask and this one have nothing to do with one another.
//
//	cups:
//	  service.unmasked
func (m *module) unmasked(ctx context.Context, a maskArgs) (any, error) { return m.mask(ctx, a, false) }

// mask has a service be masked or not.
func (m *module) mask(ctx context.Context, a maskArgs, wanted bool) (change.Result, error) {
	if !m.has("masked") {
		return change.Result{Name: a.Name, Verdict: change.Failure, Comment: "Service masking not available on this minion"}, nil
	}
	fun, kind, is := "mask", "masked", "is already "
	if !wanted {
		fun, is = "unmask", "was already "
	}
	done := fun + "ed"
	if a.Runtime {
		kind, done = "runtime masked", "runtime "+done
	}
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) { return m.ask(ctx, "masked", a.Name, []any{a.Runtime}, nil) },
		Wants: func(now bool) *data.Map {
			if now == wanted {
				return nil
			}
			return data.NewMap(kind, change.OldNew(now, wanted))
		},
		Apply: func(ctx context.Context, _ bool) error {
			_, err := m.ask(ctx, fun, a.Name, []any{a.Runtime}, nil)
			return err
		},
		Texts: change.Texts{
			Same:   "Service " + a.Name + " " + is + done,
			Would:  "Service " + a.Name + " would be " + done,
			Done:   "Service " + a.Name + " was " + done,
			Failed: "Failed to " + fun + " service " + a.Name,
		},
	}.Ensure(ctx)
}
