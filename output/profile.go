package output

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// profile is Salt's outputter for the durations of states: a table of the states of all minions by
// name (salt/output/profile.py).
type profile struct{ table Outputter }

func newProfile(o Options) Outputter {
	o.Table.RowsKey, o.Table.LabelsKey = "rows", "labels"
	return &profile{newTable(o)}
}

// maxName is how many characters of a state's name are shown.
const maxName = 60

// durationTitle heads the column of durations and is its minimum width.
const durationTitle = "duration (ms)"

// A timed state is one row.
type timed struct {
	duration  float64
	name, fun string
}

// Format fails unless v is a dictionary of minions.
func (p *profile) Format(v any) (string, error) {
	minions, ok := v.(*data.Map)
	if !ok {
		return "", fmt.Errorf("profile: expected a dictionary: %w", ErrValue)
	}
	var states []timed
	for _, ret := range minions.All() {
		found, err := statesOf(ret)
		if err != nil {
			return "", err
		}
		states = append(states, found...)
	}
	width := len(durationTitle)
	for _, s := range states {
		width = max(width, len(milliseconds(s.duration)))
	}
	type row struct{ duration, name, fun string }
	rows := make([]row, len(states))
	for i, s := range states {
		rows[i] = row{fmt.Sprintf("%*s", width, milliseconds(s.duration)), s.name, s.fun}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(strings.Compare(a.duration, b.duration), strings.Compare(a.name, b.name),
			strings.Compare(a.fun, b.fun))
	})
	cells := make([]any, len(rows))
	for i, r := range rows {
		cells[i] = []any{r.name, r.fun, r.duration}
	}
	return p.table.Format(data.NewMap("labels", []any{"name", "mod.fun", durationTitle},
		"rows", cells))
}

func milliseconds(d float64) string { return strconv.FormatFloat(d, 'f', 4, 64) }

// statesOf returns the states in a minion's return, a dictionary by id. Like Salt, it takes each
// element of a list, and each letter of a text, as an id.
func statesOf(ret any) ([]timed, error) {
	var states []timed
	switch ret := ret.(type) {
	case *data.Map:
		for id, v := range ret.All() {
			s, err := stateOf(data.Str(id), v)
			if err != nil {
				return nil, err
			}
			states = append(states, s)
		}
	case []any:
		for _, id := range ret {
			s, err := stateOf(data.Str(id), &data.Map{})
			if err != nil {
				return nil, err
			}
			states = append(states, s)
		}
	case string:
		for _, r := range ret {
			s, err := stateOf(string(r), &data.Map{})
			if err != nil {
				return nil, err
			}
			states = append(states, s)
		}
	default:
		return nil, fmt.Errorf("profile: expected dictionaries: %w", ErrValue)
	}
	return states, nil
}

// stateOf returns the row of one state, whose id is module_|-id_|-name_|-function.
func stateOf(id string, v any) (timed, error) {
	parts := strings.Split(id, "_|-")
	s := timed{duration: -1, fun: parts[0] + "." + parts[len(parts)-1]}
	ret, ok := v.(*data.Map)
	if !ok {
		s.name = short(id)
		return s, nil
	}
	name, ok := ret.Get("name")
	if !ok {
		name = ret.Value("__id__")
	}
	s.name = "<>"
	if name != nil {
		text, isText := name.(string)
		if !isText {
			return s, fmt.Errorf("profile: the name of a state is not text: %w", ErrValue)
		}
		s.name = short(text)
	}
	if d, ok := ret.Get("duration"); ok {
		text := strings.TrimSpace(data.Str(d))
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return s, fmt.Errorf("profile: a duration is not a number: %w", ErrValue)
		}
		s.duration = n
	}
	return s, nil
}

func short(name string) string {
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName-3]) + "..."
	}
	return name
}
