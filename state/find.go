package state

import (
	"github.com/brineproject/brine/data"
)

// place identifies one state of an ID.
type place struct{ id, state any }

// findName returns the states that a reference {STATE: NAME} selects: the state of that ID, all
// states of an SLS, or those with an argument of that value. If strict is true, the ID must have
// the state (salt/state.py, find_name).
func findName(high *data.Map, name, state any, strict bool) []place {
	if !data.Hashable(name) {
		return nil
	}
	body, _ := high.Value(name).(*data.Map)
	if high.Has(name) && (!strict || body.Has(state)) {
		return []place{{name, state}}
	}
	var found []place
	for id, v := range high.All() {
		body, _ := v.(*data.Map)
		switch args, _ := body.Value(state).([]any); {
		case body == nil:
		case state == "sls":
			if data.Equal(body.Value("__sls__"), name) {
				found = append(found, place{id, firstKey(body)})
			}
		default:
			for range valuesEqual(args, name) {
				found = append(found, place{id, state})
			}
		}
	}
	return found
}

// valuesEqual returns the number of single-key arguments with this value.
func valuesEqual(args []any, value any) int {
	n := 0
	for _, arg := range args {
		if m, ok := arg.(*data.Map); ok && m.Len() == 1 {
			if _, v := m.At(0); data.Equal(v, value) {
				n++
			}
		}
	}
	return n
}

// ofSLS returns all states of an SLS (salt/state.py, find_sls_ids).
func ofSLS(high *data.Map, sls any) []place {
	var found []place
	for id, v := range high.All() {
		body, ok := v.(*data.Map)
		if !ok || !data.Equal(body.Value("__sls__"), sls) {
			continue
		}
		for state := range body.All() {
			if !internal(state) {
				found = append(found, place{id, state})
			}
		}
	}
	return found
}
