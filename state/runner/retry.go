package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
)

// A plan says how often a chunk is run again.
type plan struct {
	until    any
	attempts int64
	interval int64 // seconds
	splay    int64
}

// plan reads the argument retry; what it does not understand has the default (salt/state.py, verify_retry_data).
func (r *Runner) plan(v any) plan {
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
	r.env.Log.Warnf("An invalid value was passed for the retry %s, using default value '%s'", key, data.Str(standard))
}

// pause returns how long to wait before the next attempt.
func (p plan) pause() time.Duration {
	seconds := p.interval
	if p.splay > 0 {
		seconds += rand.Int64N(p.splay + 1)
	}
	return time.Duration(min(max(seconds, 0), int64(1<<62/time.Second))) * time.Second
}

// foretell adds to the comment of test mode what a real run would do.
func (p plan) foretell(ret *data.Map) {
	comment := ""
	if c := ret.Value("comment"); data.Truth(c) {
		comment = data.Str(c)
	}
	ret.Set("comment", comment+fmt.Sprintf("  The state would be retried every %d seconds (with a splay of up to %d seconds) a maximum of %d times "+
		"or until a result of %s is returned", p.interval, p.splay, p.attempts, data.Str(p.until)))
}

func attemptText(n int, ret *data.Map) string {
	return fmt.Sprintf(`Attempt %d: Returned a result of "%s", with the following comment: "%s"`, n, data.Str(ret.Value("result")), data.Str(ret.Value("comment")))
}

// retry runs a chunk again while its result is not as its argument retry wants it. Those that run in parallel see to it
// themselves.
func (r *Runner) retry(ctx context.Context, w *walk, t *task, ret *data.Map) (*data.Map, error) {
	v, ok := t.low.Get("retry")
	if !ok || t.low.Has("parallel") {
		return ret, nil
	}
	p := r.plan(v)
	if r.test() {
		p.foretell(ret)
		return ret, nil
	}
	if data.Equal(p.until, ret.Value("result")) || p.attempts <= int64(t.try) {
		return ret, nil
	}
	waited, err := r.wait(ctx, p)
	if err != nil {
		return nil, err
	}
	next, err := r.call(ctx, w, t.low, t.try+1)
	if err != nil {
		return nil, err
	}
	comment := ""
	if c := next.Value("comment"); data.Truth(c) {
		comment = data.Str(c)
	}
	next.Set("comment", attemptText(t.try, ret)+"\n"+comment)
	next.Set("duration", number(next)+number(ret)+milliseconds(waited))
	if t.try == 1 {
		next.Set("start_time", ret.Value("start_time"))
	}
	return next, nil
}

func number(ret *data.Map) float64 {
	f, _ := ret.Value("duration").(float64)
	return f
}

// wait waits before the next attempt and returns how long.
func (r *Runner) wait(ctx context.Context, p plan) (time.Duration, error) {
	d := p.pause()
	r.env.Log.Infof("State result does not match retry until value, state will be re-run in %d seconds", d/time.Second)
	return d, clock.Sleep(ctx, d)
}
