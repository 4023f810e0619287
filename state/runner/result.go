package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// identify adds to a result whose it is.
func identify(ret, low *data.Map) *data.Map {
	for _, key := range []string{"__sls__", "__id__", "name"} {
		ret.Set(key, low.Value(key))
	}
	return ret
}

// fake returns the next result, of a chunk that is not run.
func (w *walk) fake(low *data.Map, result any, comment string) *data.Map {
	ret := data.NewMap("changes", &data.Map{}, "result", result, "duration", 0.0, "start_time", timeOfDay(time.Now()), "comment", comment)
	ret.Set("__run_num__", w.r.next())
	return identify(ret, low)
}

// skipped returns the result of a chunk that is as wanted without being run.
func (w *walk) skipped(low *data.Map, comment string) *data.Map { return w.fake(low, true, comment) }

// notRun returns the result of a chunk whose time has not come.
func (w *walk) notRun(low *data.Map, comment string) *data.Map {
	return identify(data.NewMap("changes", &data.Map{}, "result", true, "duration", 0.0, "start_time", timeOfDay(time.Now()), "comment", comment,
		"__state_ran__", false, "__run_num__", w.r.next()), low)
}

// timed adds when a state began, in the host's time, and how many milliseconds it took.
func timed(ret *data.Map, began time.Time, took time.Duration) {
	ret.Set("start_time", timeOfDay(began))
	ret.Set("duration", milliseconds(took))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// timeOfDay returns the time of day as Python's isoformat does.
func timeOfDay(t time.Time) string {
	t = t.Local()
	if t.Nanosecond() < 1000 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04:05.000000")
}

// unify returns what a state gave in the form that results have: a comment is text, a result true, false or nil. What is no
// result is a failed one (salt/utils/decorators/state.py).
func unify(v any) *data.Map {
	ret, wrong := checked(v)
	if wrong == "" {
		for _, sub := range listOf(ret.Value("sub_state_run")) {
			if _, wrong = checked(sub); wrong != "" {
				break
			}
		}
	}
	if wrong != "" {
		return malformed(wrong)
	}
	straighten(ret)
	for _, sub := range listOf(ret.Value("sub_state_run")) {
		straighten(sub.(*data.Map))
	}
	return ret
}

func malformed(wrong string) *data.Map {
	return data.NewMap("result", false, "name", "later", "changes", &data.Map{},
		"comment", "An exception occurred in this state: "+wrong)
}

// checked returns v as a result, or what is wrong with it.
func checked(v any) (ret *data.Map, wrong string) {
	ret, ok := v.(*data.Map)
	if !ok || ret == nil {
		return nil, "Malformed state return. Data must be a dictionary type."
	}
	if _, ok := ret.Value("changes").(*data.Map); !ok {
		return nil, "'Changes' should be a dictionary."
	}
	var missing []string
	for _, key := range []string{"name", "result", "changes", "comment"} {
		if !ret.Has(key) {
			missing = append(missing, key)
		}
	}
	if missing != nil {
		return nil, fmt.Sprintf("The following keys were not present in the state return: %s.", strings.Join(missing, ", "))
	}
	return ret, ""
}

func straighten(ret *data.Map) {
	if list, ok := ret.Value("comment").([]any); ok {
		lines := make([]string, len(list))
		for i, line := range list {
			lines[i] = data.Str(line)
		}
		ret.Set("comment", strings.Join(lines, "\n"))
	}
	if result := ret.Value("result"); result != nil {
		ret.Set("result", data.Truth(result))
	}
}
