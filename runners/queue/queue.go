// Package queue is Salt's runner queue: queues of texts for reactors and schedules, each a SQLite
// file in sqlite_queue_dir (salt/runners/queue.py, salt/queues/sqlite_queue.py). The file format is
// Salt's.
//
// It also has list and cancel, which are about jobs for offline minions (package master/queue).
package queue

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner queue.
func Plugin() loader.Plugin { return loader.Plugin{Name: "queue", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("cancel", m.cancel),
		loader.F("delete", m.remove),
		loader.F("insert", m.insert),
		loader.F("insert_runner", m.insertRunner),
		loader.F("list", m.list),
		loader.F("list_items", m.listItems),
		loader.F("list_length", m.listLength),
		loader.F("list_queues", m.listQueues),
		loader.F("pop", m.pop),
		loader.F("process_queue", m.processQueue),
		loader.F("process_runner", m.processRunner),
	}}, nil
}

// store returns the queues of a backend; only sqlite exists.
func (m *module) store(backend, fun string) (*store, error) {
	if backend != "sqlite" {
		return nil, loader.Invocation("Function %q is not available", backend+"."+fun)
	}
	return &store{dir: m.env.Opts.Text("sqlite_queue_dir")}, nil
}

type itemsArgs struct {
	Queue   string
	Items   any
	Backend string `default:"'sqlite'"`
}

// insert adds an item to a queue, or a list of items. If an item is in the queue already, it
// reports that and adds nothing.
//
// CLI Example:
//
//	salt-run queue.insert myqueue myitem
//	salt-run queue.insert myqueue "['item1', 'item2', 'item3']"
func (m *module) insert(ctx context.Context, a itemsArgs) (any, error) {
	s, err := m.store(a.Backend, "insert")
	if err != nil {
		return nil, err
	}
	items, several, err := itemsOf(a.Items)
	if err != nil {
		return nil, err
	}
	twice, err := s.add(ctx, a.Queue, items)
	switch {
	case err != nil:
		return nil, err
	case twice && several:
		return fmt.Sprintf("One or more items already exists in this queue. sqlite error: UNIQUE constraint failed: %s.name", a.Queue), nil
	case twice:
		return fmt.Sprintf("Item already exists in this queue. sqlite error: UNIQUE constraint failed: %s.name", a.Queue), nil
	}
	return true, nil
}

// itemsOf returns the texts to store for an argument. A dictionary is one item, in Salt's form.
func itemsOf(v any) (items []string, several bool, err error) {
	switch v := v.(type) {
	case *data.Map:
		text, err := output.JSON(v)
		return []string{withApostrophes(text)}, false, err
	case []any:
		for _, e := range v {
			items = append(items, data.Str(e))
		}
		return items, true, nil
	case nil:
		return nil, false, nil
	}
	return []string{data.Str(v)}, false, nil
}

// withApostrophes replaces " by ' in JSON, as Salt does. A literal ' or " in a text becomes \u0027
// or \u0022, so that replacing ' by ", as Salt does, restores the same value.
func withApostrophes(text string) string {
	return strings.NewReplacer(`\\`, `\\`, `\"`, `\u0022`, `'`, `\u0027`, `"`, `'`).Replace(text)
}

// remove removes an item from a queue, or a list of items.
//
// CLI Example:
//
//	salt-run queue.delete myqueue myitem
//	salt-run queue.delete myqueue "['item1', 'item2', 'item3']"
func (m *module) remove(ctx context.Context, a itemsArgs) (any, error) {
	s, err := m.store(a.Backend, "delete")
	if err != nil {
		return nil, err
	}
	items, _, err := itemsOf(a.Items)
	if err != nil {
		return nil, err
	}
	return true, s.drop(ctx, a.Queue, items)
}

type backendArgs struct {
	Backend string `default:"'sqlite'"`
}

// listQueues returns the names of the queues.
//
// CLI Example:
//
//	salt-run queue.list_queues
func (m *module) listQueues(_ context.Context, a backendArgs) (any, error) {
	s, err := m.store(a.Backend, "list_queues")
	if err != nil {
		return nil, err
	}
	names, err := s.names()
	return data.Values(names), err
}

type queueArgs struct {
	Queue   string
	Backend string `default:"'sqlite'"`
}

// listLength returns the number of items in a queue.
//
// CLI Example:
//
//	salt-run queue.list_length myqueue
func (m *module) listLength(ctx context.Context, a queueArgs) (any, error) {
	s, err := m.store(a.Backend, "list_length")
	if err != nil {
		return nil, err
	}
	items, err := s.items(ctx, a.Queue)
	return int64(len(items)), err
}

// listItems returns the items of a queue.
//
// CLI Example:
//
//	salt-run queue.list_items myqueue
func (m *module) listItems(ctx context.Context, a queueArgs) (any, error) {
	s, err := m.store(a.Backend, "list_items")
	if err != nil {
		return nil, err
	}
	items, err := s.items(ctx, a.Queue)
	return data.Values(items), err
}

type popArgs struct {
	Queue    string
	Quantity any    `default:"1"`
	Backend  string `default:"'sqlite'"`
	IsRunner bool   `default:"False"`
}

// pop removes items from a queue and returns them.
//
// quantity
//
//	The number of items, or all.
//
// is_runner
//
//	True decodes items that queue.insert_runner wrote.
//
// CLI Example:
//
//	salt-run queue.pop myqueue
//	salt-run queue.pop myqueue 6
//	salt-run queue.pop myqueue all
func (m *module) pop(ctx context.Context, a popArgs) (any, error) {
	s, err := m.store(a.Backend, "pop")
	if err != nil {
		return nil, err
	}
	n := int64(-1)
	if a.Quantity != "all" {
		if n, err = loader.Int(a.Quantity); err != nil {
			return nil, loader.Invocation("Quantity must be an integer or \"all\".\nError: \"%s\".",
				err)
		}
	}
	if !a.IsRunner {
		items, err := s.take(ctx, a.Queue, n, func(string) bool { return true })
		return data.Values(items), err
	}
	return m.takeCalls(ctx, s, a.Queue, n)
}

// processQueue removes items from a queue and fires them as the event salt/queue/QUEUE/process, for
// a reactor. It returns the event's data.
//
// CLI Example:
//
//	salt-run queue.process_queue myqueue
//	salt-run queue.process_queue myqueue 6
//	salt-run queue.process_queue myqueue all backend=sqlite
func (m *module) processQueue(ctx context.Context, a popArgs) (any, error) {
	items, err := m.pop(ctx, a)
	if loader.KindOf(err) == loader.KindInvocation {
		_ = runners.RunOf(ctx).Fire(ctx, "progress", data.NewMap("errors", err.Error()))
		return false, nil
	}
	if err != nil {
		return nil, err
	}
	body := data.NewMap("items", items, "backend", a.Backend, "queue", a.Queue)
	if fire := m.env.Host.FireMaster; fire != nil {
		if err := fire(ctx, eventbus.Tagify("queue", a.Queue, "process"), body); err != nil {
			m.env.Log.WithError(err).Warnf("fire the items of queue %s", a.Queue)
		}
	}
	return body, nil
}
