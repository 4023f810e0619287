package batch

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// ErrRecord is wrapped for data that is not a record of a run.
var ErrRecord = errors.New("not the record of a batch")

// Marshal encodes a run, together with the caller's order for resuming it. Pauses of slots are not
// saved: after a restart the slots are free.
func (r *Run) Marshal(order *data.Map) ([]byte, error) {
	p := r.plan
	return payload.MarshalBin(data.NewMap("batch", int64(recordVersion), "order", order,
		"number", int64(p.Size.Number), "percent", p.Size.Percent, "wait", p.Wait.Seconds(),
		"failhard", p.Failhard, "timeout", p.Timeout.Seconds(), "gather", p.Gather.Seconds(),
		"stopped", r.stopped, "waiting", data.Values(r.waiting), "active", data.Values(r.active),
		"answered", data.Values(r.Ended(Answered)), "failed", data.Values(r.Ended(Failed)),
		"silent", data.Values(r.Ended(Silent))))
}

const recordVersion = 1

// maxRecord is the maximum size of a record in bytes.
const maxRecord = 64 << 20

// Unmarshal decodes a record made by Marshal.
func Unmarshal(b []byte) (r *Run, order *data.Map, err error) {
	limits := payload.WireLimits()
	limits.Size = maxRecord
	v, err := payload.UnmarshalText(b, limits)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	m, ok := v.(*data.Map)
	if version, _ := m.Value("batch").(int64); !ok || version != recordVersion {
		return nil, nil, fmt.Errorf("%w: its version is not %d", ErrRecord, recordVersion)
	}
	order, ok = m.Value("order").(*data.Map)
	if !ok {
		return nil, nil, fmt.Errorf("%w: it has no order", ErrRecord)
	}
	plan, err := planOf(m)
	if err != nil {
		return nil, nil, err
	}
	r = NewRun(plan, nil)
	return r, order, r.fill(m)
}

func planOf(m *data.Map) (Plan, error) {
	number, ok1 := m.Value("number").(int64)
	percent, ok2 := m.Value("percent").(float64)
	if !ok1 || !ok2 || number < 0 || number > math.MaxInt32 ||
		number == 0 && !(percent > 0 && percent <= maxPercent) {
		return Plan{}, fmt.Errorf("%w: it has no size", ErrRecord)
	}
	const year = 366 * 24 * time.Hour
	return Plan{
		Size:     Size{Number: int(number), Percent: percent},
		Wait:     Seconds(m.Value("wait"), 0, year),
		Failhard: data.Truth(m.Value("failhard")),
		Timeout:  Seconds(m.Value("timeout"), 0, year),
		Gather:   Seconds(m.Value("gather"), 0, year),
	}, nil
}

// Seconds converts a number of seconds to a duration of at most most. Without a positive number it
// returns otherwise.
func Seconds(v any, otherwise, most time.Duration) time.Duration {
	var s float64
	switch v := v.(type) {
	case int64:
		s = float64(v)
	case float64:
		s = v
	}
	if !(s > 0) {
		return otherwise
	}
	return time.Duration(math.Min(s, most.Seconds()) * float64(time.Second))
}

// fill sets the minions of a run; no minion may occur twice.
func (r *Run) fill(m *data.Map) error {
	r.stopped = data.Truth(m.Value("stopped"))
	seen := map[string]bool{}
	for _, place := range []struct {
		name string
		put  func(id string)
	}{
		{"waiting", func(id string) { r.waiting = append(r.waiting, id) }},
		{"active", func(id string) { r.active = append(r.active, id) }},
		{"answered", func(id string) { r.ended[id] = Answered }},
		{"failed", func(id string) { r.ended[id] = Failed }},
		{"silent", func(id string) { r.ended[id] = Silent }},
	} {
		ids, ok := m.Value(place.name).([]any)
		if !ok {
			return fmt.Errorf("%w: %s is missing", ErrRecord, place.name)
		}
		for _, v := range ids {
			id, ok := v.(string)
			if !ok || seen[id] {
				return fmt.Errorf("%w: %s names %v", ErrRecord, place.name, v)
			}
			seen[id] = true
			place.put(id)
		}
	}
	return nil
}
