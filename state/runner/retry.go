package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/state"
)

// A plan is the configuration of retries of a chunk.
type plan struct {
	until    any
	attempts int64
	interval int64 // seconds
	splay    int64
}

// parsePlan parses the argument retry. Invalid values are replaced by defaults (salt/state.py,
// verify_retry_data).
func (r *Runner) parsePlan(v any) plan {
	p := plan{until: true, attempts: 2, interval: 30}
	given, ok := v.(*data.Map)
	if !ok {
		r.env.Log.Warn("State is set to retry, but a valid dict for retry configuration was not found.  Using retry defaults")
		return p
	}
	if until, ok := given.Get("until"); ok {
		if _, ok := until.(bool); ok {
			p.until = until
		} else {
			r.badRetry("until", p.until)
		}
	}
	for _, f := range []struct {
		key  string
		into *int64
	}{{"attempts", &p.attempts}, {"interval", &p.interval}, {"splay", &p.splay}} {
		switch n := given.Value(f.key).(type) {
		case int64:
			*f.into = n
		case bool:
			*f.into = 0
			if n {
				*f.into = 1
			}
		default:
			if given.Has(f.key) {
				r.badRetry(f.key, *f.into)
			}
		}
	}
	return p
}

func (r *Runner) badRetry(key string, standard any) {
	r.env.Log.Warnf("An invalid value was passed for the retry %s, using default value '%s'", key,
		data.Str(standard))
}

// delay returns how long to wait before the next attempt.
func (p plan) delay() time.Duration {
	seconds := p.interval
	if p.splay > 0 {
		seconds += rand.Int64N(p.splay + 1)
	}
	return time.Duration(min(max(seconds, 0), int64(1<<62/time.Second))) * time.Second
}

// describe appends to the comment of test mode how the state would be retried.
func (p plan) describe(ret *data.Map) {
	ret.Set("comment", commentOf(ret)+fmt.Sprintf("  The state would be retried every %d seconds (with a splay of up to %d seconds) a maximum of %d times "+
		"or until a result of %s is returned", p.interval, p.splay, p.attempts, data.Str(p.until)))
}

func attemptText(n int, ret *data.Map) string {
	return fmt.Sprintf(`Attempt %d: Returned a result of "%s", with the following comment: "%s"`, n,
		data.Str(ret.Value("result")), data.Str(ret.Value("comment")))
}

// retry runs a chunk again until its result matches its argument retry. Parallel states handle
// retries themselves.
func (r *Runner) retry(
	ctx context.Context, w *walk, low state.Chunk, ret *data.Map,
) (*data.Map, error) {
	v, ok := low.Get("retry")
	if !ok || low.Has("parallel") {
		return ret, nil
	}
	p := r.parsePlan(v)
	if r.test() {
		p.describe(ret)
		return ret, nil
	}
	earlier := attemptText(1, ret)
	ret, err := r.repeat(ctx, p, p.attempts-1, ret,
		func(n int, _ *data.Map) (*data.Map, bool, error) {
			next, final, err := r.callOnce(ctx, w, newTask(low, n+1))
			if err != nil {
				return nil, false, err
			}
			text := attemptText(n+1, next)
			next.Set("comment", earlier+"\n"+commentOf(next))
			earlier += "\n" + text
			return next, final, nil
		})
	if err != nil {
		return nil, err
	}
	return ret, nil
}

// repeat calls run up to limit times until the result matches the plan, and waits before each call.
// The arguments of run are the number of the call, from 1, and the result so far. It returns the
// next result, with the comments of both, and whether that is final. The duration of a result
// includes those before it. If ctx ends during a wait, repeat returns the result so far and an
// error.
func (r *Runner) repeat(
	ctx context.Context, p plan, limit int64, ret *data.Map,
	run func(n int, last *data.Map) (next *data.Map, final bool, err error),
) (*data.Map, error) {
	final := false
	for n := 1; !final && int64(n) <= limit && !data.Equal(p.until, ret.Value("result")); n++ {
		waited, err := r.wait(ctx, p)
		if err != nil {
			return ret, err
		}
		var next *data.Map
		if next, final, err = run(n, ret); err != nil {
			return nil, err
		}
		next.Set("duration", durationOf(next)+durationOf(ret)+milliseconds(waited))
		next.Set("start_time", ret.Value("start_time"))
		ret = next
	}
	return ret, nil
}

// commentOf returns the comment of a result, "" if it is empty.
func commentOf(ret *data.Map) string {
	if c := ret.Value("comment"); data.Truth(c) {
		return data.Str(c)
	}
	return ""
}

// durationOf returns the duration of a result in milliseconds.
func durationOf(ret *data.Map) float64 {
	f, _ := ret.Value("duration").(float64)
	return f
}

// wait waits before the next attempt and returns the duration.
func (r *Runner) wait(ctx context.Context, p plan) (time.Duration, error) {
	d := p.delay()
	r.env.Log.Infof("State result does not match retry until value, state will be re-run in %d seconds", d/time.Second)
	return d, clock.Sleep(ctx, d)
}
