package queue

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type noteArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// shelf returns the runner beside another one that records its calls.
func shelf(t *testing.T, happened *[]string) (*loader.Registry, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "queues")
	env := &loader.Env{Opts: data.NewMap("sqlite_queue_dir", dir,
		"runner_queue", data.NewMap("queue", "calls", "backend", "sqlite"))}
	env.Host.FireMaster = func(_ context.Context, tag string, body *data.Map) error {
		*happened = append(*happened, tag+" "+data.Repr(body))
		return nil
	}
	note := loader.Plugin{Name: "note", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("it",
			func(_ context.Context, a noteArgs) (any, error) {
				*happened = append(*happened, "called "+data.Repr(a.Args)+data.Repr(a.Kwargs))
				return nil, nil
			})}}, nil
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(), note})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func expect(t *testing.T, r *loader.Registry, want, fun string, args ...any) {
	t.Helper()
	got, err := r.Invoke(t.Context(), "queue."+fun, args, nil)
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s%v is %s, %v, want %s", fun, args, data.Repr(got), err, want)
	}
}

// TestQueuesAreSalts calls the functions; the results are those of Salt 3006.0.
func TestQueuesAreSalts(t *testing.T) {
	var happened []string
	r, dir := shelf(t, &happened)
	expect(t, r, "[]", "list_queues")
	expect(t, r, "True", "insert", "q", "a'b")
	expect(t, r, "'Item already exists in this queue. sqlite error: UNIQUE constraint failed: q.name'", "insert", "q", "a'b")
	expect(t, r, "True", "insert", "q", []any{"c", int64(4)})
	expect(t, r, "'One or more items already exists in this queue. sqlite error: UNIQUE constraint failed: q.name'", "insert", "q", []any{"e", "c"})
	expect(t, r, "True", "insert", "q", data.NewMap("x", []any{int64(1)}))
	expect(t, r, `["a'b", 'c', '4', "{'x': [1]}"]`, "list_items", "q")
	expect(t, r, "4", "list_length", "q")
	expect(t, r, "['q']", "list_queues")
	expect(t, r, `["a'b", 'c']`, "pop", "q", int64(2))
	expect(t, r, "True", "delete", "q", []any{"4", "nosuch"})
	expect(t, r, `["{'x': [1]}"]`, "pop", "q", "all")
	expect(t, r, "[]", "pop", "q")
	expect(t, r, "True", "insert", "q", "web1")
	expect(t, r, "{'items': ['web1'], 'backend': 'sqlite', 'queue': 'q'}", "process_queue", "q")
	expect(t, r, "False", "process_queue", "q", "many")
	if len(happened) != 1 || happened[0] != "salt/queue/q/process {'items': ['web1'], 'backend': 'sqlite', 'queue': 'q'}" {
		t.Errorf("happened: %v", happened)
	}
	if info, err := os.Stat(dir + "/q.db"); err != nil || info.Size() == 0 {
		t.Errorf("the file of Salt is not there: %v", err)
	}
}

func TestRunnersAreQueued(t *testing.T) {
	var happened []string
	r, _ := shelf(t, &happened)
	expect(t, r, "True", "insert_runner", "note.it", "a,b", data.NewMap("k", int64(1)))
	for range 2 {
		expect(t, r, "None", "process_runner")
	}
	if got := strings.Join(happened, " | "); !strings.Contains(got, "called ['a', 'b']{'k': 1}") ||
		strings.Count(got, "called") != 1 {
		t.Errorf("happened: %s", got)
	}
}

func TestNamesThatAreNone(t *testing.T) {
	var happened []string
	r, dir := shelf(t, &happened)
	for _, name := range []string{"", "../x", "a b", "a;DROP TABLE a", `a"b`,
		"a/b", strings.Repeat("a", 65), "1a"} {
		if _, err := r.Invoke(t.Context(), "queue.insert", []any{name, "x"},
			nil); loader.KindOf(err) != loader.KindInvocation {
			t.Errorf("queue %q: %v", name, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "queue.insert", []any{"q", "x", "pgjsonb"},
		nil); err == nil || err.Error() != `Function "pgjsonb.insert" is not available` {
		t.Errorf("another backend: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("files %v", entries)
	}
}

// TestUnreadableItemIsKept queues calls with apostrophes, quotation marks and
// backslashes, and an item in Salt's form of such a call: readable items run, the other stays in
// the queue.
func TestUnreadableItemIsKept(t *testing.T) {
	var happened []string
	r, _ := shelf(t, &happened)
	const damaged = `{'fun': 'note.it', 'args': ['it's'], 'kwargs': {}}`
	expect(t, r, "True", "insert", "calls", damaged)
	for range 2 {
		if _, err := r.Invoke(t.Context(), "queue.process_runner", nil, nil); err == nil {
			t.Errorf("process_runner of an item that cannot be read is no error")
		}
		expect(t, r, "1", "list_length", "calls")
	}
	expect(t, r, "True", "insert_runner", "note.missing", []any{})
	expect(t, r, "True", "insert_runner",
		"note.it", []any{`it's "so"`, `C:\`, `\\"`, `\'`, "größe\n"}, data.NewMap("k'", `"`))
	if _, err := r.Invoke(t.Context(), "queue.process_runner", []any{"all"}, nil); err == nil {
		t.Error("that a function is missing was not told")
	}
	want := "called " + data.Repr([]any{`it's "so"`, `C:\`, `\\"`, `\'`,
		"größe\n"}) + data.Repr(data.NewMap("k'", `"`))
	if got := strings.Join(happened, " | "); !strings.Contains(got, want) ||
		strings.Count(got, "called") != 1 {
		t.Errorf("happened: %s\nwant %s", got, want)
	}
	expect(t, r, data.Repr([]any{damaged}), "pop", "calls", "all")
}
