// Package report has what returners share that report the results of states to people or by HTTP.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Sprinkle replaces {NAME} in a text by grains. Missing grains are empty. As in Salt an opening and
// a closing brace count alike (_sprinkle of salt/returners/highstate_return.py).
func Sprinkle(text string, grains *data.Map) string {
	parts := strings.FieldsFunc(strings.NewReplacer("{", "\x00{", "}", "\x00}").Replace(text+"\x00"),
		func(r rune) bool { return r == 0 })
	var b strings.Builder
	inside := false
	for _, p := range parts {
		if p[0] == '{' || p[0] == '}' {
			inside, p = !inside, p[1:]
		}
		switch {
		case !inside:
			b.WriteString(p)
		case grains.Has(p):
			b.WriteString(data.Str(grains.Value(p)))
		}
	}
	return b.String()
}

// A State is the result of one state.
type State struct {
	Tag    string
	Parts  []string // module, id, name, function
	Result *data.Map
}

// Failed reports whether the state failed. A missing result is none.
func (s State) Failed() bool {
	v, ok := s.Result.Get("result")
	return ok && !data.Truth(v)
}

// Changed reports whether the state made changes.
func (s State) Changed() bool { return data.Truth(s.Result.Value("changes")) }

// Duration returns how long the state took, in milliseconds.
func (s State) Duration() float64 {
	f, _ := loader.Float(s.Result.Value("duration"))
	return f
}

// States returns the results of states in the order in which they ran. The error names a key or a
// value that is not one of a state.
func States(returned any) ([]State, error) {
	m, ok := returned.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("the return is of type %s and has no states", loader.TypeName(returned))
	}
	var all []State
	for k, v := range m.All() {
		tag, _ := k.(string)
		parts := strings.Split(tag, "_|-")
		result, ok := v.(*data.Map)
		if len(parts) != 4 || !ok {
			return nil, fmt.Errorf("%.100q is not the result of a state", data.Str(k))
		}
		all = append(all, State{tag, parts, result})
	}
	slices.SortStableFunc(all, func(a, b State) int { return cmp.Compare(a.run(), b.run()) })
	return all, nil
}

func (s State) run() int64 {
	n, _ := loader.Int(s.Result.Value("__run_num__"))
	return n
}
