package runners

import "github.com/brineproject/brine/data"

// checkResult reports whether no state below v has failed. A value without states counts as failed
// (salt/utils/state.py, check_result). Requisites of the kind onfail do not make up for a failure
// here.
func checkResult(v any) bool {
	m, ok := v.(*data.Map)
	return ok && checkStates(m, false)
}

func checkStates(m *data.Map, below bool) bool {
	if m.Len() == 0 {
		return false
	}
	for id, v := range m.All() {
		state, isMap := v.(*data.Map)
		_, isList := v.([]any)
		switch {
		case id == "__extend__" && isList, !isMap && below:
		case !isMap || id == "__extend__":
			return false
		case state.Has("result"):
			if state.Value("result") == false {
				return false
			}
		case !checkStates(state, true):
			return false
		}
	}
	return true
}
