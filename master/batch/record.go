package batch

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// ErrRecord is wrapped for bytes that are no record of a run.
var ErrRecord = errors.New("not the record of a batch")

// Marshal writes a run down, with what its owner needs to take it up again. Pauses of places are not kept: after a restart
// their places are free.
func (r *Run) Marshal(order *data.Map) ([]byte, error) {
	p := r.plan
	return payload.MarshalBin(data.NewMap("batch", int64(recordVersion), "order", order,
		"number", int64(p.Size.Number), "percent", p.Size.Percent, "wait", p.Wait.Seconds(), "failhard", p.Failhard,
		"timeout", p.Timeout.Seconds(), "gather", p.Gather.Seconds(), "stopped", r.stopped,
		"waiting", data.Values(r.waiting), "active", data.Values(r.active), "answered", data.Values(r.Ended(Answered)),
		"failed", data.Values(r.Ended(Failed)), "silent", data.Values(r.Ended(Silent))))
}

const recordVersion = 1

// maxRecord is the longest record that is read, in bytes.
const maxRecord = 64 << 20

// Unmarshal reads what Marshal wrote.
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
	if !ok1 || !ok2 || number < 0 || number > math.MaxInt32 || number == 0 && !(percent > 0 && percent <= maxPercent) {
		return Plan{}, fmt.Errorf("%w: it has no size", ErrRecord)
	}
	return Plan{Size: Size{Number: int(number), Percent: percent}, Wait: seconds(m, "wait"), Failhard: data.Truth(m.Value("failhard")),
		Timeout: seconds(m, "timeout"), Gather: seconds(m, "gather")}, nil
}

// seconds returns a span between none and a year.
func seconds(m *data.Map, name string) time.Duration {
	s, _ := m.Value(name).(float64)
	const year = 366 * 24 * 3600
	if !(s > 0) {
		return 0
	}
	return time.Duration(math.Min(s, year) * float64(time.Second))
}

// fill sets where the minions of a run are; none may be in two places.
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
