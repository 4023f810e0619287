package state

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// callable is the placeholder function for a state that names none. No module has it, so the state
// fails at run time with this name.
const callable = "__call__"

// Declare inserts the function __call__ into each state of high data that names no function. Such a
// state then fails while the others run. SUSE's Salt 3006.0 does the same before it verifies the
// data (salt/state.py, inject_default_call). Declare returns the problems that Verify would have
// reported for these states.
func Declare(high *data.Map) []string {
	var problems []string
	for id, v := range high.All() {
		body, _ := v.(*data.Map)
		for name, args := range body.All() {
			list, ok := args.([]any)
			if !ok || slices.ContainsFunc(list, isText) {
				continue
			}
			body.Set(name, slices.Insert(slices.Clone(list), max(0, len(list)-1), any(callable)))
			problems = append(problems, fmt.Sprintf("No function declared in state '%s' in SLS '%s', id '%s'", data.Str(name), data.Str(body.Value("__sls__")), data.Str(id)))
		}
	}
	return problems
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}
