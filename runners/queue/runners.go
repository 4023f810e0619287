package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

type insertRunnerArgs struct {
	Fun     string
	Args    any `default:"None"`
	Kwargs  any `default:"None"`
	Queue   any `default:"None"`
	Backend any `default:"None"`
}

// insertRunner adds a call of a runner to a queue, for a later queue.process_runner. The option
// runner_queue names the queue and its backend. Unlike in Salt the backend must be sqlite, because
// there is no other.
//
// args
//
//	The arguments, as a list or comma-separated.
//
// kwargs
//
//	The keyword arguments, as a dictionary.
//
// CLI Example:
//
//	salt-run queue.insert_runner test.stdout_print queue=runners backend=sqlite
//	salt-run queue.insert_runner event.send test_insert_runner kwargs='{"data": {"foo": "bar"}}'
func (m *module) insertRunner(ctx context.Context, a insertRunnerArgs) (any, error) {
	queue, backend := m.configured(a.Queue, a.Backend)
	args := a.Args
	switch v := args.(type) {
	case nil:
		args = []any{}
	case string:
		args = data.Values(strings.Split(v, ","))
	}
	kwargs := a.Kwargs
	if kwargs == nil {
		kwargs = data.NewMap()
	}
	return m.insert(ctx, itemsArgs{queue,
		data.NewMap("fun", a.Fun, "args", args, "kwargs", kwargs), backend})
}

// configured returns the queue for runners and its backend.
func (m *module) configured(queue, backend any) (string, string) {
	option, _ := m.env.Option("runner_queue").(*data.Map)
	if queue == nil {
		queue = option.Value("queue")
	}
	if backend == nil {
		if backend = option.Value("backend"); backend == nil {
			backend = "pgjsonb" // Salt's default
		}
	}
	return data.Str(queue), data.Str(backend)
}

type processRunnerArgs struct {
	Quantity any `default:"1"`
	Queue    any `default:"None"`
	Backend  any `default:"None"`
}

// processRunner removes calls of runners from a queue and runs them.
//
// quantity
//
//	The number of calls, or all.
//
// CLI Example:
//
//	salt-run queue.process_runner
//	salt-run queue.process_runner 5
func (m *module) processRunner(ctx context.Context, a processRunnerArgs) (any, error) {
	queue, backend := m.configured(a.Queue, a.Backend)
	v, err := m.processQueue(ctx, popArgs{queue, a.Quantity, backend, true})
	if err != nil {
		return nil, err
	}
	body, ok := v.(*data.Map)
	if !ok {
		return nil, loader.TypeError("'bool' object is not subscriptable")
	}
	list, _ := body.Value("items").([]any)
	// the calls have left the queue: a failing one must not stop the others
	for _, one := range list {
		call, _ := one.(*data.Map)
		args, _ := call.Value("args").([]any)
		kwargs, _ := call.Value("kwargs").(*data.Map)
		if _, failed := m.env.Call(ctx, call.Text("fun"), args, kwargs); err == nil {
			err = failed
		}
	}
	return nil, err
}

// errItem is returned for an item that is no runner call.
var errItem = errors.New("an item of the queue is not a runner call")

// takeCalls removes the items that insertRunner wrote from a queue. Other items stay in it and are
// logged.
func (m *module) takeCalls(ctx context.Context, s *store, queue string, n int64) (any, error) {
	list, unread := []any{}, 0
	_, err := s.take(ctx, queue, n, func(item string) bool {
		call, ok := callOf(item)
		if !ok {
			unread++
			return false
		}
		list = append(list, call)
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case unread > 0 && len(list) == 0:
		return nil, loader.Execution("%w, and stays in it (one of %d such items; queue.list_items shows them)", errItem, unread)
	case unread > 0:
		m.env.Log.Warnf("queue %s: %v, and stays in it (one of %d such items; queue.list_items shows them)", queue, errItem, unread)
	}
	return list, nil
}

// callOf decodes an item that insertRunner wrote.
func callOf(item string) (*data.Map, bool) {
	v, err := yaml.Load([]byte(strings.ReplaceAll(item, "'", `"`)), yaml.Options{})
	call, ok := v.(*data.Map)
	return call, ok && err == nil && call.Text("fun") != ""
}
