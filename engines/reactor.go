package engines

import (
	"fmt"

	"github.com/brineproject/brine/data"
)

// A Reactor has the options of the engine reactor; 0 means that an option is not given.
type Reactor struct{ Workers, Queue int }

// ReactorOf returns the options of the engine reactor in the option engines, which are those of
// reactor_worker_threads and reactor_worker_hwm (salt/engines/reactor.py). It skips malformed
// entries.
func ReactorOf(option any) Reactor {
	entries, _ := option.([]any)
	for _, entry := range entries {
		if _, module, options, err := parse(entry); err == nil && module == "reactor" {
			if r, err := reactorOptions(options); err == nil {
				return r
			}
		}
	}
	return Reactor{}
}

// reactorOptions parses the options of the engine reactor. Nothing is loaded again at intervals, so
// refresh_interval has no effect.
func reactorOptions(options *data.Map) (r Reactor, err error) {
	if err := Only(options, "refresh_interval", "worker_threads", "worker_hwm"); err != nil {
		return r, err
	}
	for name, at := range map[string]*int{"worker_threads": &r.Workers, "worker_hwm": &r.Queue} {
		v := options.Value(name)
		if v == nil {
			continue
		}
		n, ok := v.(int64)
		if !ok || n < 1 || n > 1e6 {
			return r, fmt.Errorf("%s: expected a number from 1 to 1000000, not %s", name, data.Repr(v))
		}
		*at = int(n)
	}
	return r, nil
}
