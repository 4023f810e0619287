package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// setIdentity adds __sls__, __id__ and name of the chunk to a result.
func setIdentity(ret *data.Map, low state.Chunk) *data.Map {
	ret.Set("__sls__", low.SLS())
	ret.Set("__id__", low.ID())
	ret.Set("name", low.Name())
	return ret
}

// notRunResult returns a numbered result for a chunk that is not run.
func (w *walk) notRunResult(low state.Chunk, result any, comment string) *data.Map {
	ret := data.NewMap("changes", &data.Map{}, "result", result, "duration", 0.0,
		"start_time", timeOfDay(time.Now()), "comment", comment)
	ret.Set("__run_num__", w.r.next())
	return setIdentity(ret, low)
}

// skipped returns the successful result of a chunk that need not be run.
func (w *walk) skipped(low state.Chunk, comment string) *data.Map {
	return w.notRunResult(low, true, comment)
}

// notRun returns the result of a chunk whose onfail or onchanges condition did not occur.
func (w *walk) notRun(low state.Chunk, comment string) *data.Map {
	return setIdentity(data.NewMap("changes", &data.Map{}, "result", true, "duration", 0.0,
		"start_time", timeOfDay(time.Now()), "comment", comment,
		"__state_ran__", false, "__run_num__", w.r.next()), low)
}

// timed adds the start time, in the host's time zone, and the duration in milliseconds.
func timed(ret *data.Map, began time.Time, took time.Duration) {
	ret.Set("start_time", timeOfDay(began))
	ret.Set("duration", milliseconds(took))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// timeOfDay formats the time of day like Python's isoformat.
func timeOfDay(t time.Time) string {
	t = t.Local()
	if t.Nanosecond() < 1000 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04:05.000000")
}

// normalizeResult brings the return value of a state function into the form of a result: the
// comment is a string, the result is true, false or nil. Anything that is not a result becomes a
// failed one (salt/utils/decorators/state.py).
func normalizeResult(v any) *data.Map {
	ret, wrong := checked(v)
	if wrong == "" {
		for _, sub := range data.ListOf(ret.Value("sub_state_run")) {
			if _, wrong = checked(sub); wrong != "" {
				break
			}
		}
	}
	if wrong != "" {
		return malformed(wrong)
	}
	normalize(ret)
	for _, sub := range data.ListOf(ret.Value("sub_state_run")) {
		normalize(sub.(*data.Map))
	}
	return ret
}

func malformed(wrong string) *data.Map {
	return data.NewMap("result", false, "name", "later", "changes", &data.Map{},
		"comment", "An exception occurred in this state: "+wrong)
}

// checked returns v as a result, or a message if it is malformed.
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
		return nil, fmt.Sprintf("The following keys were not present in the state return: %s.",
			strings.Join(missing, ", "))
	}
	return ret, ""
}

func normalize(ret *data.Map) {
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
