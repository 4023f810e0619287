package swarm

import (
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// isState reports whether a function applies states.
func isState(fun string) bool {
	return fun == "state.apply" || fun == "state.sls" || fun == "state.highstate"
}

// stateRun returns the result of a run of states that changed nothing, as MessagePack of at least
// size bytes, and about a quarter more.
func stateRun(size int) data.Raw {
	results := data.NewMap()
	var raw data.Raw
	for length, i := 0, 0; len(raw) < size; i++ {
		name := fmt.Sprintf("/etc/app/part%04d.conf", i)
		results.Set(fmt.Sprintf("file_|-app_%04d_|-%s_|-managed", i, name), data.NewMap(
			"changes", data.NewMap(), "comment", "File "+name+" is in the correct state", "name", name,
			"result", true, "__sls__", "app.config", "__run_num__", int64(i),
			"start_time", "10:20:30.405060", "duration", 4.321, "__id__", fmt.Sprintf("app_%04d", i)))
		if length++; length < 16 || length%16 == 0 { // encoding all of it each time takes long
			raw, _ = payload.Marshal(results) // of texts and numbers only
		}
	}
	return raw
}
