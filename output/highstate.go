package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// StateOptions tune the outputter highstate. The zero value is Salt without configuration, except
// for Profile and Verbose, which Salt sets by default.
type StateOptions struct {
	// state_output: full, terse, mixed, changes, filter, each also with _id; "" is full
	Mode        string
	Verbose     bool // state_verbose: also show successful states without changes
	Diff        bool // state_output_diff: show only changed or failed states
	Profile     bool // state_output_profile: show start and duration of each state
	Percent     bool // state_output_pct: show percentages of success and failure
	CompressIDs bool // state_compress_ids: join the names of one id
	Tabular     bool // state_tabular: terse lines in columns
	// state_output_exclude, or exclude=: results that filter leaves out, a list or a text with
	// commas
	Exclude any
	Terse   any // state_output_terse, or terse=: results that filter shows in one line
}

// highstate is Salt's outputter for runs of states (salt/output/highstate.py).
type highstate struct {
	colours
	o     StateOptions
	plain Options // options for nested
}

func newHighstate(o Options) Outputter {
	plain := o
	plain.NestedIndent, plain.Retcode, plain.KeepOrder = 14, 0, false
	return &highstate{newColours(o), o.State, plain}
}

// maxLevels limits how deep runs of states may be nested.
const maxLevels = 50

func (h *highstate) Format(v any) (string, error) { return h.format(v, 1) }

func (h *highstate) format(v any, level int) (string, error) {
	v = unwrapped(v)
	switch v := v.(type) {
	case nil:
		return "None", nil
	case string, bool, int64, int:
		return data.Str(v), nil
	case *data.Map:
		if level > maxLevels {
			return "", fmt.Errorf("runs of states are nested too deep: %w", ErrValue)
		}
		return h.hosts(v, level)
	}
	return "", fmt.Errorf("not a run of states: %w", ErrValue)
}

// unwrapped removes the wrapper that a job cache or an orchestration puts around a run.
func unwrapped(v any) any {
	for _, key := range []string{"return", "data"} {
		if m, ok := v.(*data.Map); ok && m.Has(key) {
			v = m.Value(key)
		}
	}
	m, ok := v.(*data.Map)
	if !ok || m.Len() != 1 {
		return v
	}
	_, only := m.At(0)
	if job, ok := only.(*data.Map); ok && job.Has("jid") && job.Has("fun") {
		if ret, ok := job.Value("return").(*data.Map); ok && ret.Has("data") {
			return ret.Value("data")
		}
	}
	return v
}

func (h *highstate) hosts(m *data.Map, level int) (string, error) {
	m = withoutRetcode(m)
	if h.o.CompressIDs {
		m = compressed(m)
	}
	var texts []string
	for host, run := range m.All() {
		text, _, err := h.host(data.Str(host), run, level)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

// withoutRetcode leaves out the return code next to the states of an orchestration.
func withoutRetcode(m *data.Map) *data.Map {
	masters := 0
	for key := range m.All() {
		if strings.HasSuffix(data.Str(key), "_master") {
			masters++
		}
	}
	if masters != 1 || !m.Has("retcode") {
		return m
	}
	m = m.Clone()
	m.Delete("retcode")
	return m
}

// A report collects the text for one host.
type report struct {
	*highstate
	colour   string // of the host's name
	lines    []string
	changes  int
	level    int
	counts   map[string]int // by result; "warnings" counts states with warnings
	total    float64        // total milliseconds of the states that ran one after another
	longest  float64        // longest time of the states that ran in parallel
	parallel bool           // some states ran in parallel
}

func (r *report) add(colour, text string) { r.lines = append(r.lines, colour+text+r.normal) }

// host returns the text of one host's run, and whether anything changed there.
func (h *highstate) host(name string, v any, level int) (text string, changed bool, err error) {
	r := &report{highstate: h, colour: h.green, level: level, counts: map[string]int{}}
	switch v := v.(type) {
	case int64, int, bool:
		r.add(r.green, "    "+data.Str(v))
		r.changes, r.colour = 1, h.cyan
	case string:
		for _, line := range splitLines(v, false) {
			r.add(r.green, "    "+line)
		}
		r.changes, r.colour = 1, h.cyan
	case []any:
		r.problems(v)
	case *data.Map:
		if err := r.states(name, v); err != nil {
			return "", false, err
		}
	}
	if !h.plain.KeepEscapes {
		name = stripEscapes(name)
	}
	head := r.colour + name + ":" + r.normal
	return strings.Join(append([]string{head}, r.lines...), "\n"), r.changes > 0, nil
}

// problems lists compile errors.
func (r *report) problems(list []any) {
	r.colour = r.lightRed
	r.lines = append(r.lines, "    "+r.colour+"Data failed to compile:"+r.normal)
	for _, v := range list {
		text := data.Str(v)
		if !r.plain.KeepEscapes {
			text = stripEscapes(text)
		}
		r.lines = append(r.lines, r.colour+"----------\n    "+text+r.normal)
	}
}

// states lists the states of a run and counts them.
func (r *report) states(host string, m *data.Map) error {
	results := &data.Map{}
	for tag, v := range m.All() {
		ret, ok := v.(*data.Map)
		if ok && tag != "changes" && ret.Len() > 0 && !ret.Has("__run_num__") {
			r.unnumbered(ret)
		}
		if ok && ret.Has("result") {
			results.Set(tag, ret)
		}
	}
	for _, tag := range byNumber(results) {
		if err := r.state(data.Str(tag), results.Value(tag).(*data.Map).Clone()); err != nil {
			return err
		}
	}
	r.summary(host)
	return nil
}

// unnumbered reports a result without its position in the run.
func (r *report) unnumbered(ret *data.Map) {
	const complaint = "The State execution failed to record the order in which all states were executed. The state return missing data is:"
	r.lines = append([]string{complaint, pretty{indent: 1}.text(ret)}, r.lines...)
}

// byNumber returns the tags in the order in which the states ran.
func byNumber(results *data.Map) []any {
	tags := results.Keys()
	number := func(tag any) float64 {
		f, _ := toFloat(results.Value(tag).(*data.Map).Value("__run_num__"))
		return f
	}
	slices.SortStableFunc(tags, func(a, b any) int {
		x, y := number(a), number(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return tags
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(strings.Split(v, " ms")[0]), 64)
		return f, err == nil
	}
	return 0, false
}

// state prints one state.
func (r *report) state(tag string, ret *data.Map) error {
	result := ret.Value("result")
	n := compressedCount(tag)
	r.counts[data.Str(result)] += n
	r.time(ret)
	changed, text, err := r.changesText(ret)
	if err != nil {
		return err
	}
	if changed {
		made := 1
		if m, ok := ret.Value("changes").(*data.Map); ok && n > 1 {
			if each, _ := m.Value("compressed changes").(*data.Map); each.Len() > 0 {
				made = each.Len()
			}
		}
		r.changes += made
	}
	if data.Truth(result) && !changed && (r.o.Diff || !r.o.Verbose) {
		return nil
	}
	return r.show(strings.Split(tag, "_|-"), ret, changed, text)
}

// time adds the duration of a state.
func (r *report) time(ret *data.Map) {
	took, _ := toFloat(ret.Value("duration"))
	if ret.Has("__parallel__") {
		r.longest, r.parallel = max(r.longest, took), true
		return
	}
	r.total += took
}

// show prints one state in the form that the options select.
func (r *report) show(comps []string, ret *data.Map, changed bool, changes string) error {
	if len(comps) < 4 {
		return fmt.Errorf("the tag %s of a state: %w", strings.Join(comps, "_|-"), ErrKey)
	}
	colour := r.stateColour(ret.Value("result"), changed)
	mode := strings.ToLower(r.o.Mode)
	if strings.HasSuffix(mode, "_id") {
		comps[2] = comps[1]
	}
	result := ret.Value("result")
	switch {
	case strings.HasPrefix(mode, "filter") && listedIn(r.o.Terse, result),
		strings.HasPrefix(mode, "terse"),
		strings.HasPrefix(mode, "mixed") && result != false,
		strings.HasPrefix(mode, "changes") && data.Truth(result) && !changed:
		r.lines = append(r.lines, r.terse(colour, comps, ret))
	case strings.HasPrefix(mode, "filter") && listedIn(r.o.Exclude, result):
	default:
		r.full(colour, comps, ret, changes)
	}
	return nil
}

// stateColour returns the colour of a state. The host's name gets the colour of the worst state.
func (r *report) stateColour(result any, changed bool) string {
	colour := r.green
	if changed {
		colour = r.cyan
	}
	switch result {
	case false:
		r.colour, colour = r.red, r.red
	case nil:
		r.colour, colour = r.lightYellow, r.lightYellow
	}
	return colour
}

// listedIn reports whether a list, or a text with commas, contains a result.
func listedIn(list, result any) bool {
	switch l := list.(type) {
	case string:
		return slices.Contains(strings.Split(l, ","), data.Str(result))
	case []any:
		return slices.Contains(l, any(data.Str(result)))
	}
	return false
}

// full prints a state with all its fields.
func (r *report) full(colour string, comps []string, ret *data.Map, changes string) {
	r.add(colour, "----------")
	line := func(label, text string) { r.lines = append(r.lines, "    "+colour+label+": "+text+r.normal) }
	line("      ID", comps[1])
	line("Function", comps[0]+"."+comps[3])
	if comps[1] != comps[2] {
		line("    Name", comps[2])
	}
	line("  Result", data.Str(ret.Value("result")))
	line(" Comment", commentText(ret))
	if r.o.Profile && ret.Has("start_time") {
		line(" Started", data.Str(ret.Value("start_time")))
		duration := ""
		if v, ok := ret.Get("duration"); ok && v != "" {
			duration = data.Str(v) + " ms"
		}
		line("Duration", duration)
	}
	r.add(colour, "     Changes:   "+changes)
	if warnings, ok := ret.Get("warnings"); ok {
		r.counts["warnings"]++
		text := strings.TrimLeft(wrap(lines(warnings), 80, strings.Repeat(" ", 14)), " \t\n")
		r.lines = append(r.lines, "   "+r.lightRed+" Warnings: "+text+r.normal)
	}
}

// lines joins a list of texts.
func lines(v any) string {
	list, ok := v.([]any)
	if !ok {
		return data.Str(v)
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = data.Str(e)
	}
	return strings.Join(texts, "\n")
}

func commentText(ret *data.Map) string {
	text := strings.ReplaceAll(strings.TrimSpace(data.Str(ret.Value("comment"))), "\n",
		"\n"+strings.Repeat(" ", 14))
	v, ok := ret.Get("data")
	if !ok {
		return text
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			text += " " + data.Str(item)
		}
	case *data.Map:
		for key, item := range v.All() {
			text += "\n\t\t" + data.Str(key) + ": " + data.Str(item)
		}
	default:
		text += " " + data.Str(v)
	}
	return text
}

// terse returns the line of a state.
func (r *report) terse(colour string, comps []string, ret *data.Map) string {
	result := "Clean"
	if data.Truth(ret.Value("changes")) {
		result = "Changed"
	}
	switch ret.Value("result") {
	case false:
		result = "Failed"
	case nil:
		result = "Differs"
	}
	timed := r.o.Profile && ret.Has("start_time")
	began, took := data.Str(ret.Value("start_time")), data.Str(ret.Value("duration"))
	warnings := ""
	if v, ok := ret.Get("warnings"); ok {
		warnings = r.lightRed + "Warnings:\n" + lines(v) + r.normal
	}
	if r.o.Tabular {
		if warnings != "" {
			warnings += "\n"
		}
		profile := ""
		if timed {
			profile = fmt.Sprintf("%s [%7s ms] ", began, took)
		}
		return warnings + colour + profile + fmt.Sprintf("%10s.%-10s %-7s   Name: %s%s", comps[0],
			comps[len(comps)-1], result, comps[2], r.normal)
	}
	profile := ""
	if timed {
		profile = fmt.Sprintf(" - Started: %s - Duration: %s ms", began, took)
	}
	return warnings + fmt.Sprintf(" %s Name: %s - Function: %s.%s - Result: %s%s%s", colour,
		comps[2], comps[0], comps[len(comps)-1], result, profile, r.normal)
}

// changesText returns whether a state changed anything, and its changes as text.
func (r *report) changesText(ret *data.Map) (changed bool, text string, err error) {
	changes, ok := ret.Get("changes")
	if !ok {
		return false, "", fmt.Errorf("a state without changes: %w", ErrKey)
	}
	switch ret.Value("name") {
	case "state.orch", "state.orchestrate", "state.sls":
		nested, err := r.format(changes, r.level+1)
		indent := strings.Repeat(" ", 14*r.level)
		return true, indent + strings.ReplaceAll("\n"+nested, "\n", "\n"+indent), err
	}
	if !data.Truth(changes) {
		return false, "", nil
	}
	m, ok := changes.(*data.Map)
	if !ok {
		return true, "Invalid Changes data: " + data.Str(changes), nil
	}
	if runs, ok := m.Value("ret").(*data.Map); ok && m.Value("out") == "highstate" {
		return r.runs(runs)
	}
	nested, err := newNested(r.plain).Format(m)
	return true, "\n" + strings.TrimRight(nested, " \t\n\r"), err
}

// runs returns the text of the runs that a state of an orchestration started.
func (r *report) runs(runs *data.Map) (changed bool, text string, err error) {
	if r.level > maxLevels {
		return false, "", fmt.Errorf("runs of states are nested too deep: %w", ErrValue)
	}
	for host, run := range runs.All() {
		shown, did, err := r.host(data.Str(host), run, r.level+1)
		if err != nil {
			return false, "", err
		}
		for _, line := range splitLines(shown, false) {
			text += "\n" + strings.Repeat(" ", 14) + line
		}
		changed = changed || did
	}
	return changed, text, nil
}
