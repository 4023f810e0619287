package python

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
)

// A scene is what plug-ins find in __opts__, __grains__ and __pillar__ during a call. A job may
// have several: while the pillar is compiled it is empty, and a run of states may have its own.
type scene struct{ opts, grains, pillar *data.Map }

// scene returns the current scene of the environment of f.
func (f *Files) scene() scene {
	return scene{f.env.Opts, filled(f.env.GrainsNow()), filled(f.env.PillarNow())}
}

// filled returns m, or nil if it is empty: an empty map may be a new one each time.
func filled(m *data.Map) *data.Map {
	if m.Len() == 0 {
		return nil
	}
	return m
}

// number returns the number of a scene, by which Python keeps its dictionaries.
func (w *worker) number(s scene) int64 {
	at := slices.Index(w.scenes, s)
	if at < 0 {
		at = len(w.scenes)
		w.scenes = append(w.scenes, s)
	}
	return int64(at + 1)
}

// call calls an operation of a worker of the job that ctx belongs to, in the scene of f.
func (f *Files) call(ctx context.Context, operation string, args ...any) (reply, error) {
	return f.callWith(ctx, f.answers, operation, args...)
}

// callWith is call with other answers to the calls that Python makes.
func (f *Files) callWith(
	ctx context.Context, answers Answers, operation string, args ...any,
) (reply, error) {
	now := f.scene()
	return f.host.use(ctx, answers, func(w *worker) (reply, error) {
		return w.call(ctx, answers, "within", append([]any{w.number(now), operation}, args...))
	})
}
