package service

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type maskArgs struct {
	Name    string
	Runtime bool `default:"False"`
}

// masked masks a service, so that nothing can start it. Masks require systemd.
//
// runtime
//
//	True: mask it until the next boot. Permanent and runtime masks are independent of each other.
//
//	cups:
//	  service.masked
func (m *module) masked(ctx context.Context, a maskArgs) (any, error) {
	return m.mask(ctx, a, true)
}

// unmasked removes the mask of a service. Masks require systemd.
//
// runtime
//
//	True: remove the runtime mask. Permanent and runtime masks are independent of each other.
//
//	cups:
//	  service.unmasked
func (m *module) unmasked(ctx context.Context, a maskArgs) (any, error) {
	return m.mask(ctx, a, false)
}

// mask masks or unmasks a service.
func (m *module) mask(ctx context.Context, a maskArgs, wanted bool) (change.Result, error) {
	if !m.has("masked") {
		return change.Result{Name: a.Name, Verdict: change.Failure,
			Comment: "Service masking not available on this minion"}, nil
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
		Look: func(ctx context.Context) (bool, error) { return calls.ServiceMasked(ctx, m.env, a.Name, a.Runtime) },
		Wants: func(now bool) *data.Map {
			if now == wanted {
				return nil
			}
			return data.NewMap(kind, change.OldNew(now, wanted))
		},
		Apply: func(ctx context.Context, _ bool) error {
			if wanted {
				return calls.ServiceMask(ctx, m.env, a.Name, a.Runtime)
			}
			return calls.ServiceUnmask(ctx, m.env, a.Name, a.Runtime)
		},
		Texts: change.Texts{
			Same:   "Service " + a.Name + " " + is + done,
			Would:  "Service " + a.Name + " would be " + done,
			Done:   "Service " + a.Name + " was " + done,
			Failed: "Failed to " + fun + " service " + a.Name,
		},
	}.Ensure(ctx)
}
