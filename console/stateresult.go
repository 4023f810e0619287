package console

import (
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A stateRun is the return of states on one minion, as a person reads it.
type stateRun struct {
	Key string // names its parts in a page
	// The states by what became of them, each in the order in which they ran.
	Failed, Changed, Unchanged []stateRow
	Errors                     []string // why nothing ran
	Busy                       []busyRun
	Test                       bool // some states only say what they would do
	Total                      int
	Time                       string
}

// A busyRun is a run of states for which a minion has refused another one.
type busyRun struct{ Fun, PID, Since, JID string }

// busyText is how a minion refuses a run of states while another goes on (salt/modules/state.py,
// _prior_running_states).
var busyText = regexp.MustCompile(`^The function "([^"]+)" is running as PID (\S+) and was started at (.+?) with jid (\S+)$`)

// takeBusy moves the refusals for another run from the errors to Busy.
func (r *stateRun) takeBusy() {
	r.Errors = slices.DeleteFunc(r.Errors, func(text string) bool {
		m := busyText.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			return false
		}
		r.Busy = append(r.Busy, busyRun{Fun: m[1], PID: m[2], Since: m[3], JID: m[4]})
		return true
	})
}

// Known reports whether the job of a run has a page: its id is a time.
func (b busyRun) Known() bool {
	_, err := startOf(b.JID)
	return err == nil
}

// A stateRow is the result of one state.
type stateRow struct {
	Name, ID, Fun string
	SLS           string
	Comment       string
	Warnings      []string
	Duration      string
	Word, Class   string // what became of it, and the class of its badge
	Changes       template.HTML
	number, took  float64
	tag           string
	job           string // that the state of an orchestration has started
	changes       any
}

// Summary counts the states in words.
func (r *stateRun) Summary() string {
	switch {
	case len(r.Errors) > 0:
		return "the states cannot be compiled"
	case len(r.Busy) > 0:
		return "refused: another state run is going on"
	}
	changed := " changed"
	if r.Test {
		changed = " would change"
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{{len(r.Failed), " failed"}, {len(r.Changed), changed}, {len(r.Unchanged), " unchanged"}} {
		if part.n > 0 {
			parts = append(parts, strconv.Itoa(part.n)+part.text)
		}
	}
	if len(parts) == 0 {
		return "no states"
	}
	return strings.Join(parts, ", ")
}

// Class returns the class of the badge of the run.
func (r *stateRun) Class() string {
	switch {
	case len(r.Errors)+len(r.Busy)+len(r.Failed) > 0:
		return "bad"
	case len(r.Changed) > 0:
		return "change"
	}
	return "good"
}

// stateTag is what separates the parts of a state's tag: module, id, name, function.
const stateTag = "_|-"

// stateRunOf returns a return as that of states; nil if it is none.
func stateRunOf(fun, key string, v any) *stateRun {
	if list, ok := v.([]any); ok && strings.HasPrefix(fun, "state.") && len(list) > 0 && knowsTest(fun) {
		r := &stateRun{Key: key, Errors: data.Texts(list)}
		r.takeBusy()
		return r
	}
	m, ok := v.(*data.Map)
	if !ok || m.Len() == 0 {
		return nil
	}
	r := &stateRun{Key: key}
	var rows []stateRow
	total := 0.0
	for tag, v := range m.All() {
		one, ok := v.(*data.Map)
		parts := strings.Split(data.Str(tag), stateTag)
		if !ok || len(parts) < 4 || !one.Has("result") {
			return nil
		}
		row := stateRowOf(parts, one)
		total += row.took
		r.Test = r.Test || one.Value("result") == nil
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b stateRow) int {
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	})
	for _, row := range rows {
		switch row.Class {
		case "bad":
			r.Failed = append(r.Failed, row)
		case "change":
			r.Changed = append(r.Changed, row)
		default:
			r.Unchanged = append(r.Unchanged, row)
		}
	}
	r.Total, r.Time = len(rows), milliseconds(total)
	return r
}

// stateRowOf returns one state, from the parts of its tag and its result.
func stateRowOf(tag []string, m *data.Map) stateRow {
	row := stateRow{ID: tag[1], Name: strings.Join(tag[2:len(tag)-1], stateTag), Fun: tag[0] + "." + tag[len(tag)-1],
		SLS: m.Text("__sls__"), Comment: clip(commentText(m.Value("comment")), longText/4), Warnings: data.TextsOf(m.Value("warnings"))}
	if id := m.Text("__id__"); id != "" {
		row.ID = id
	}
	if name, ok := m.Value("name").(string); ok && name != "" {
		row.Name = name
	}
	row.number = float(m.Value("__run_num__"))
	row.took = float(m.Value("duration"))
	if m.Has("duration") {
		row.Duration = milliseconds(row.took)
	}
	row.job = data.Str(orEmpty(m.Value("__jid__")))
	row.tag, row.changes = strings.Join(tag, stateTag), m.Value("changes")
	row.Changes = changesOf(row.changes)
	row.Word, row.Class = outcomeOf(m.Value("result"), m, data.Truth(row.changes))
	return row
}

func outcomeOf(result any, m *data.Map, changed bool) (word, class string) {
	ran, told := m.Get("__state_ran__")
	switch {
	case result == false && told && ran == false:
		return "not run", "bad"
	case result == false:
		return "failed", "bad"
	case result == nil:
		return "would change", "change"
	case changed:
		return "changed", "change"
	}
	return "unchanged", ""
}

func commentText(v any) string {
	if list, ok := v.([]any); ok {
		return strings.Join(data.Texts(list), "\n")
	}
	return data.Str(orEmpty(v))
}

func float(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		f, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(v, "ms")), 64)
		return f
	}
	return 0
}

// milliseconds returns a time as people read it.
func milliseconds(ms float64) string {
	if ms < 1000 {
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
}
