package thorium

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func (r *register) timerFunctions(*loader.Env) []loader.Func {
	return []loader.Func{loader.F("hold", r.hold)}
}

type holdArgs struct{ Name, Seconds any }

// hold fails until more than some seconds have gone since the first round, or since it last succeeded.
func (r *register) hold(_ context.Context, a holdArgs) (any, error) {
	n, ok := number(a.Seconds)
	if !ok {
		return change.Failed(a.Name, "seconds is no number"), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name, now := data.Str(a.Name), r.now()
	begun, known := r.timers[name]
	over := known && now.Sub(begun) > time.Duration(n*float64(time.Second))
	if !known || over {
		r.timers[name] = now
	}
	return change.New(a.Name, over, nil, ""), nil
}
