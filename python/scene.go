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

// maxScenes is the most scenes whose dictionaries a worker keeps.
const maxScenes = 16

// A staged scene is one that Python knows by a number.
type staged struct {
	scene
	number int64
}

// number returns the number of a scene, by which Python keeps its dictionaries, and that of a scene
// that Python is to forget, 0 for none.
func (w *worker) number(s scene) (number, dropped int64) {
	at := slices.IndexFunc(w.scenes, func(known staged) bool { return known.scene == s })
	if at == len(w.scenes)-1 && at >= 0 {
		return w.scenes[at].number, 0
	}
	if at >= 0 {
		number = w.scenes[at].number
		w.scenes = append(slices.Delete(w.scenes, at, at+1), staged{s, number})
		return number, 0
	}
	w.last++
	if len(w.scenes) == maxScenes {
		dropped = w.scenes[0].number
		w.scenes = slices.Delete(w.scenes, 0, 1)
	}
	w.scenes = append(w.scenes, staged{s, w.last})
	return w.last, dropped
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
		number, dropped := w.number(now)
		return w.call(ctx, answers, "within", append([]any{number, dropped, operation}, args...))
	})
}
