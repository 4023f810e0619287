package salt

import (
	"context"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type waitArgs struct {
	Name    any
	IDList  any    `name:"id_list"`
	EventID any    `name:"event_id" default:"'id'"`
	Timeout any    `default:"300"`
	Node    string `default:"'master'"`
}

// waitForEvent waits until events have been received for all of the given values.
//
// name
//
//	The tag, which may be a glob.
//
// id_list
//
//	The values, such as minion IDs.
//
// event_id
//
//	The key of the value in the event data. If it holds a list, each element counts.
//
// timeout
//
//	Timeout in seconds.
//
// node
//
//	master, or minion for the event bus of a minion.
//
//	wait_for_reboots:
//	  salt.wait_for_event:
//	    - name: salt/minion/*/start
//	    - id_list:
//	      - jerry
//	      - stuart
//	    - require:
//	      - salt: reboot_all_minions
func (m *module) waitForEvent(ctx context.Context, a waitArgs) (any, error) {
	tag := data.Str(a.Name)
	if change.Test(ctx) {
		return change.Would(a.Name, nil, "Orchestration would wait for event '"+tag+"'"), nil
	}
	ids, ok := a.IDList.([]any)
	if !ok {
		return nil, loader.TypeError("id_list must be a list, and is %s", loader.TypeName(a.IDList))
	}
	seconds, err := loader.Float(a.Timeout)
	if err != nil {
		return nil, err
	}
	sockets, err := eventbus.NodeSockets(a.Node, m.env.Opts, "")
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	bus := eventbus.NewWatcher(sockets, eventbus.ClientOptions{})
	defer bus.Close()
	w := &watch{tag: tag, key: a.EventID, left: slices.Clone(ids), began: time.Now()}
	limited, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	if err := w.run(limited, bus); err != nil && ctx.Err() != nil {
		return nil, err
	}
	return w.result(a.Name), nil
}

// A watch waits for events with certain values.
type watch struct {
	tag   string
	key   any
	left  []any // values without an event so far
	seen  []any
	began time.Time
	over  bool
}

// run reads events until all values have been seen. It returns the error of ctx.
func (w *watch) run(ctx context.Context, bus *eventbus.Watcher) error {
	for {
		e, err := bus.Next(ctx)
		if err != nil {
			return err
		}
		if loader.Glob(w.tag, e.Tag) {
			if body, err := e.Map(); err == nil {
				w.take(body)
			}
		}
		if len(w.left) == 0 {
			w.over = true
			return nil
		}
	}
}

// take removes the values in an event from those left.
func (w *watch) take(body *data.Map) {
	v := body.Value(w.key)
	if inner, ok := body.Value("data").(*data.Map); v == nil && ok {
		v = inner.Value(w.key)
	}
	values := []any{v}
	if list, ok := v.([]any); ok {
		values = list
	}
	for _, v := range values {
		i := slices.IndexFunc(w.left, func(id any) bool { return data.Equal(id, v) })
		if v != nil && i >= 0 {
			w.seen = append(w.seen, w.left[i])
			w.left = slices.Delete(w.left, i, i+1)
		}
	}
}

// result returns the result with the values that were seen.
func (w *watch) result(name any) *data.Map {
	changes := data.NewMap()
	if len(w.seen) > 0 {
		changes.Set("minions_seen", w.seen)
	}
	if !w.over {
		return change.New(name, false, changes, "Timeout value reached.")
	}
	return change.New(name, true, changes, "All events seen in "+
		data.Str(time.Since(w.began).Seconds())+" seconds.")
}
