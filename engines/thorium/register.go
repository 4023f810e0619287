package thorium

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/match"
)

// Limits of an entry of the register, which events of minions fill: the number of its values, and the
// length of each as Python writes it.
const (
	maxValues = 10_000
	maxValue  = 4096
)

// small reports whether a value is not longer than a limit in bytes.
func small(v any, limit int) bool { return len(data.AppendRepr(nil, v)) <= limit }

// A register keeps what the functions of thorium store between rounds, and the events of the present
// round. Functions may run in parallel, so each holds mu.
type register struct {
	now func() time.Time

	mu      sync.Mutex
	values  *data.Map                  // name → dictionary with val
	members map[string]map[string]bool // of each value that is a set, by their Python texts
	events  []event
	timers  map[string]time.Time // when each timer began
	missed  map[string]time.Time // since when a minion has had no status
}

// An event is an event of the present round.
type event struct {
	tag  string
	data *data.Map
}

func newRegister(now func() time.Time) *register {
	return &register{now: now, values: data.NewMap(), members: map[string]map[string]bool{},
		timers: map[string]time.Time{}, missed: map[string]time.Time{}}
}

// begin begins a round with events. Those that cannot be decoded are left out.
func (r *register) begin(events []eventbus.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
	for _, e := range events {
		if body, err := e.Map(); err == nil {
			r.events = append(r.events, event{e.Tag, body})
		}
	}
}

// inner returns the data that an event carries: the field data if it is a dictionary, as in the events
// of minions, or else all.
func (e event) inner() *data.Map {
	if m, ok := e.data.Value("data").(*data.Map); ok {
		return m
	}
	return e.data
}

// matching returns the events whose tags match an expression, a glob or a regular expression for the
// whole tag (salt/utils/stringutils.py, expr_match).
func (r *register) matching(expr string) []event {
	glob := match.CompileGlob(expr)
	re, err := match.CompileRegexp(`(?:` + expr + `)\Z`)
	var found []event
	for _, e := range r.events {
		if glob.Match(e.tag) || err == nil && re.Match(e.tag) {
			found = append(found, e)
		}
	}
	return found
}

// value returns the value of an entry.
func (r *register) value(name any) (any, bool) {
	entry, ok := r.values.Value(name).(*data.Map)
	if !ok {
		return nil, false
	}
	return entry.Get("val")
}

// entry returns an entry. If it has no value, it is made with the one of begin.
func (r *register) entry(name any, begin func() *data.Map) *data.Map {
	entry, ok := r.values.Value(name).(*data.Map)
	if !ok || !entry.Has("val") {
		entry = begin()
		r.values.Set(name, entry)
		delete(r.members, data.Str(name))
	}
	return entry
}

// newest returns the last n values of a list.
func newest(list []any, n int) []any { return list[max(0, len(list)-n):] }

// number returns a value that is a number, and whether it is one. Truth values are numbers in Python.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	}
	return 0, false
}

// numeral returns n as Python shows a result: as an integer if whole says so and it is one.
func numeral(n float64, whole bool) any {
	if whole && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}

// notIn returns the comment for an entry that does not exist (salt/thorium/check.py).
func notIn(name any) string { return fmt.Sprintf("Value %s not in register", data.Str(name)) }
