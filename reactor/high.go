package reactor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// maxReactions is the maximum number of reactions to one event.
const maxReactions = 1000

// High collects the reactions of several files by id, like Salt's high data (salt/state.py,
// Compiler). The zero value is empty.
type High struct {
	ids    []string
	bodies map[string]body
}

// A body is the value of an id.
type body struct {
	sls  string
	list []declaration
}

// A declaration is a type, or a type with a function, and its arguments.
type declaration struct {
	key   string
	value any
}

// Add adds the contents of a file. An existing id is replaced. The error explains why the whole
// file is rejected.
func (h *High) Add(sls string, value any) error {
	if value == nil {
		return nil
	}
	m, ok := value.(*data.Map)
	if !ok {
		return errors.New("High data is not a dictionary and is invalid") // Salt's text
	}
	found := map[string]body{}
	var ids []string
	for key, v := range m.All() {
		id, ok := key.(string)
		if !ok {
			return fmt.Errorf("ID '%s' in SLS '%s' is not formed as a string. It may need to be quoted", data.Str(key), sls)
		}
		if strings.HasPrefix(id, "__") {
			continue
		}
		b, err := bodyOf(v)
		if err != nil {
			return fmt.Errorf("ID '%s' in SLS '%s': %w", id, sls, err)
		}
		b.sls = sls
		found[id], ids = b, append(ids, id)
	}
	h.merge(ids, found)
	return nil
}

func bodyOf(v any) (b body, err error) {
	switch v := v.(type) {
	case string: // a function without arguments
		return body{list: []declaration{{v, []any{}}}}, nil
	case *data.Map:
		for key, value := range v.All() {
			if name := data.Str(key); !strings.HasPrefix(name, "_") {
				b.list = append(b.list, declaration{name, value})
			}
		}
		return b, nil
	}
	return b, errors.New("it is not formatted as a dictionary")
}

func (h *High) merge(ids []string, found map[string]body) {
	if h.bodies == nil {
		h.bodies = map[string]body{}
	}
	for _, id := range ids {
		if _, ok := h.bodies[id]; !ok {
			h.ids = append(h.ids, id)
		}
		h.bodies[id] = found[id]
	}
}

// A Reaction is an action that answers an event: a low chunk.
type Reaction struct {
	ID   string
	SLS  string // source file
	Type string // local, runner, wheel, caller, or an invalid type
	Fun  string
	Low  *data.Map // arguments by name, and the chunk's own fields

	order float64
}

// Compile returns the reactions sorted by their option order, else in file order. Unlike in Salt,
// reactions without an order keep their order in the file, and one id may have several functions of
// a type. The error lists everything that is invalid; no reaction must be executed then.
func (h *High) Compile() ([]*Reaction, error) {
	var all []*Reaction
	var faults []error
	for _, id := range h.ids {
		b := h.bodies[id]
		for _, d := range b.list {
			reactions, err := d.compile(id, b.sls)
			if err != nil {
				faults = append(faults, err)
			}
			all = append(all, reactions...)
			if len(all) > maxReactions {
				return nil, fmt.Errorf("there are more than %d reactions", maxReactions)
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	order(all)
	return all, nil
}

// compile returns the reactions of a declaration, one per entry of names.
func (d declaration) compile(id, sls string) ([]*Reaction, error) {
	kind, fun, dotted := strings.Cut(d.key, ".")
	args, ok := d.value.([]any)
	if !ok {
		return nil, fmt.Errorf("State '%s' in SLS '%s' is not formed as a list", id, sls) //nolint:staticcheck // Salt's text
	}
	low := data.NewMap("state", alias(kind), "name", id, "__sls__", sls, "__id__", id)
	var funs []string
	if dotted {
		funs = append(funs, fun)
	}
	var names []any
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			funs = append(funs, arg)
		case *data.Map:
			more, _ := arg.Value("names").([]any)
			names = append(names, more...)
			low.Update(arg)
		}
	}
	low.Delete("names")
	switch {
	case len(funs) == 0 || len(funs) == 1 && strings.TrimSpace(funs[0]) == "":
		return nil, fmt.Errorf("No function declared in state '%s' in SLS '%s'", id, sls) //nolint:staticcheck // Salt's text
	case len(funs) > 1:
		return nil, fmt.Errorf("Too many functions declared in state '%s' in SLS '%s'", id, sls) //nolint:staticcheck // Salt's text
	case strings.ContainsAny(strings.TrimSpace(funs[0]), " \t"):
		return nil, fmt.Errorf("the function %q in state '%s' in SLS '%s' has whitespace; perhaps it is an argument without its colon", funs[0], id, sls)
	}
	low.Set("fun", funs[0])
	return named(&Reaction{ID: id, SLS: sls, Type: alias(kind), Fun: funs[0], Low: low}, names)
}

// alias returns the type for an obsolete name.
func alias(kind string) string {
	if kind == "cmd" {
		return "local"
	}
	return kind
}

// named repeats a reaction for each entry of names. An entry that is a map adds arguments.
func named(r *Reaction, names []any) ([]*Reaction, error) {
	if len(names) == 0 {
		return []*Reaction{r}, nil
	}
	if len(names) > maxReactions {
		return nil, fmt.Errorf("there are more than %d names in state '%s' in SLS '%s'",
			maxReactions, r.ID, r.SLS)
	}
	var all []*Reaction
	for i, entry := range names {
		one := *r
		one.Low = r.Low.Clone()
		one.order = float64(i+1) / 10000
		one.Low.Set("name", entry)
		if m, ok := entry.(*data.Map); ok && m.Len() > 0 {
			name := m.Keys()[0]
			one.Low.Set("name", name)
			more, _ := m.Value(name).([]any)
			for _, v := range more {
				if args, ok := v.(*data.Map); ok {
					one.Low.Update(args)
				}
			}
		}
		all = append(all, &one)
	}
	return all, nil
}

// order sorts reactions by their option order (salt/state.py, order_chunks).
func order(all []*Reaction) {
	usual := 1.0
	for _, r := range all {
		if n, ok := r.Low.Value("order").(int64); ok && n > 0 && float64(n) > usual-1 {
			usual = float64(n) + 100
		}
	}
	for _, r := range all {
		at, given := usual, true
		switch v := r.Low.Value("order").(type) {
		case int64:
			at = float64(v)
		case float64:
			at = v
		case string:
			at = map[string]float64{"last": usual + 1000000, "first": 0}[v]
			if v != "last" && v != "first" {
				at = usual
			}
		default:
			given = false
		}
		if math.IsNaN(at) {
			at = usual
		}
		if at += r.order; given && at < 0 {
			at += usual + 1000000
		}
		r.order = at
	}
	slices.SortStableFunc(all, func(a, b *Reaction) int {
		switch {
		case a.order < b.order:
			return -1
		case a.order > b.order:
			return 1
		}
		return 0
	})
}
