package mine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A Query selects results from the mine.
type Query struct {
	Requester string // id of the requester
	Target    any
	Kind      string // kind of target; "" means glob
	Fun       any    // a name, several separated by commas, or a list of names
}

const (
	maxAsked = 1024     // functions that one query may name
	maxFound = 64 << 20 // maximum total bytes of the values in a result
)

// Get returns the results by minion if one function is requested, and otherwise by function and
// minion. A list counts as several functions even if it has one. Missing results, and those that
// the requester may not see, are left out. Values are encoded in wire form; see [Decoded].
func (s *Store) Get(q Query, r Rules) (*data.Map, error) {
	funs, several := functions(q.Fun)
	found := data.NewMap()
	if r.Allowed != nil {
		funs = slices.DeleteFunc(funs, func(f string) bool { return !r.Allowed(q.Requester, f) })
	}
	if len(funs) == 0 {
		return found, nil
	}
	ids, err := r.Resolve(q.Target, exactly(q.Kind))
	if err != nil {
		return found, fmt.Errorf("mine target %s: %w", data.Str(q.Target), err)
	}
	inside := insideOnce(r.Inside, q.Requester)
	size := 0
	for _, id := range ids {
		mined := s.read(id)
		for _, fun := range funs {
			v, ok := visible(mined, fun, inside)
			if !ok {
				continue
			}
			if size += len(v); size > s.most {
				return found, fmt.Errorf("mine target %s: %w: results of minions from %s on are left out",
					clip(data.Str(q.Target)), ErrTooMuch, id)
			}
			put(found, several, fun, id, v)
		}
	}
	return found, nil
}

// clip shortens a text for an error message.
func clip(text string) string { return text[:min(len(text), 80)] }

func put(found *data.Map, several bool, fun, id string, v data.Raw) {
	if !several {
		found.Set(id, v)
		return
	}
	of, ok := found.Value(fun).(*data.Map)
	if !ok {
		of = data.NewMap()
		found.Set(fun, of)
	}
	of.Set(id, v)
}

// functions returns the requested names without duplicates, and whether the result is by function.
func functions(v any) (names []string, several bool) {
	switch v := v.(type) {
	case string:
		names = strings.Split(v, ",")
		slices.Sort(names)
		names = slices.Compact(names)
		several = len(names) > 1
	case []any:
		several = true
		for _, e := range v {
			if name, ok := e.(string); ok && !slices.Contains(names, name) &&
				len(names) < maxAsked {
				names = append(names, name)
			}
		}
	}
	return names[:min(len(names), maxAsked)], several
}

// exactly returns the kind by which a target is resolved: pillar values are compared whole
// (salt/daemons/masterapi.py, _mine_get).
func exactly(kind string) string {
	switch strings.ToLower(kind) {
	case "":
		return "glob"
	case "pillar", "pillar_pcre":
		return "pillar_exact"
	case "compound":
		return "compound_pillar_exact"
	}
	return kind
}

// visible returns the value of a function in wire form, if there is one and the requester may see
// it.
func visible(
	mined payload.Fields, fun string, inside func(tgt any, kind string) bool,
) (data.Raw, bool) {
	value, target, kind, limited := unwrap(mined.Raw(fun))
	if value == nil || limited && !inside(target, cmp.Or(kind, "glob")) {
		return nil, false
	}
	wire, err := payload.Rewrite(value, false)
	return wire, err == nil
}

// insideOnce returns a function that reports whether id is inside a target. It evaluates each
// target once.
func insideOnce(
	inside func(id string, tgt any, kind string) bool, id string,
) func(tgt any, kind string) bool {
	known := map[string]bool{}
	return func(tgt any, kind string) bool {
		name := kind + "\x00" + data.Repr(tgt)
		in, ok := known[name]
		if !ok {
			in = inside(id, tgt, kind)
			known[name] = in
		}
		return in
	}
}

// Decoded returns the result of Get with decoded values.
func Decoded(found *data.Map) (*data.Map, error) {
	raw, err := payload.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("read the mine: %w", err)
	}
	v, err := payload.Unmarshal(raw, limits())
	if err != nil {
		return nil, fmt.Errorf("read the mine: %w", err)
	}
	m, _ := v.(*data.Map)
	return m, nil
}
