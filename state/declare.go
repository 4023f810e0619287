package state

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// callable is the function of a state that names none, and which no module has: the state fails in the run, with its name.
const callable = "__call__"

// Declare gives each state of high data that names no function the function __call__, as runs of SUSE's Salt 3006.0 do before they
// look at the form (salt/state.py, inject_default_call), so that such a state fails and the others run. It returns what Verify would
// have said of them.
func Declare(high *data.Map) []string {
	var told []string
	for id, v := range high.All() {
		body, _ := v.(*data.Map)
		for name, args := range body.All() {
			list, ok := args.([]any)
			if !ok || slices.ContainsFunc(list, isText) {
				continue
			}
			body.Set(name, slices.Insert(slices.Clone(list), max(0, len(list)-1), any(callable)))
			told = append(told, fmt.Sprintf("No function declared in state '%s' in SLS '%s', id '%s'", data.Str(name), data.Str(body.Value("__sls__")), data.Str(id)))
		}
	}
	return told
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}
