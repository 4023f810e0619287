package state

import "github.com/brineproject/brine/data"

// Succeeded reports whether no state in the results of a run failed. An empty result and a value
// that is not a dictionary count as failed. With deep, values may be nested dictionaries, for
// example the runs of several minions; otherwise each value must be a result (salt/utils/state.py,
// check_result). Requisites of the kind onfail do not make up for a failure here.
func Succeeded(results any, deep bool) bool {
	m, ok := results.(*data.Map)
	if !ok || m.Len() == 0 {
		return false
	}
	for id, v := range m.All() {
		body, isMap := v.(*data.Map)
		_, isList := v.([]any)
		if !deep && (id == "__extend__" && !isList || id != "__extend__" && !isMap) {
			return false
		}
		if !isMap {
			continue
		}
		if result, ok := body.Get("result"); ok && result == false ||
			!ok && !Succeeded(body, true) {
			return false
		}
	}
	return true
}
