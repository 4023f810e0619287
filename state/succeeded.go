package state

import "github.com/brineproject/brine/data"

// Succeeded reports whether nothing in the results of a run has failed; what is no dictionary, or an empty one, counts as failed.
// deep takes dictionaries of anything, as of the runs of several minions, where otherwise each value must be a result
// (salt/utils/state.py, check_result). Requisites of the kind onfail do not make up for a failure here.
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
		if result, ok := body.Get("result"); ok && result == false || !ok && !Succeeded(body, true) {
			return false
		}
	}
	return true
}
