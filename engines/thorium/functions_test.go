package thorium

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/state/change"
)

// functions returns the functions of an engine whose clock is now.
func functions(t *testing.T, h engines.Host, now *time.Time) (*thorium, *loader.Registry) {
	t.Helper()
	th := &thorium{host: h, reg: newRegister(func() time.Time { return *now })}
	env := &loader.Env{Opts: data.NewMap("cachedir", t.TempDir(), "user", "salt"), Log: logging.Discard()}
	env.Host.Control = func(_ context.Context, kind string, c loader.MasterCall) *data.Map {
		m, ok := h.Minions.(*minions)
		if !ok || kind != "wheel" || c.Fun != "key.reject_dict" {
			t.Errorf("called %s %s", kind, c.Fun)
			return data.NewMap("success", false)
		}
		m.done = append(m.done, "reject "+data.Repr(c.Args)+data.Repr(c.Kwargs))
		return data.NewMap("success", true)
	}
	r, err := loader.NewRegistry(env, th.plugins())
	if err != nil {
		t.Fatal(err)
	}
	return th, r
}

// call calls a function as a state without test mode.
func call(t *testing.T, r *loader.Registry, fun string, kwargs ...any) *data.Map {
	t.Helper()
	v, err := r.Invoke(t.Context(), fun, nil, data.NewMap(kwargs...))
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return v.(*data.Map)
}

// give begins a round with events, in the form of the recorded ones.
func give(th *thorium, list []any) {
	th.reg.events = nil
	for _, v := range list {
		e := v.(*data.Map)
		th.reg.events = append(th.reg.events, event{e.Text("tag"), e.Value("data").(*data.Map)})
	}
}

// comparable returns a value in the form of the recorded ones: sets are sorted, and all numbers floats.
func comparable(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for k, e := range v.All() {
			m.Set(data.Str(k), comparable(e))
		}
		return m
	case data.Set:
		list := sortedTexts(v)
		return data.NewMap("__set__", list)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = comparable(e)
		}
		return list
	case int64:
		return float64(v)
	}
	return v
}

func sortedTexts(set data.Set) []any {
	texts := data.Texts(set)
	for i := range texts {
		for j := range i {
			if texts[j] > texts[i] {
				texts[i], texts[j] = texts[j], texts[i]
			}
		}
	}
	return data.Values(texts)
}

// calls.json has calls of Salt's functions, their results and the entry of the register after each.
func TestFunctionsAreThoseOfSalt(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	calls, err := pyjson.Load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	th, r := functions(t, engines.Host{}, &now)
	for _, v := range calls.([]any) {
		c := v.(*data.Map)
		kwargs := c.Value("kwargs").(*data.Map)
		fun := c.Text("fun")
		if fun == "REG" {
			th.reg.values.Set(kwargs.Value("name"), data.NewMap("val", data.Clone(kwargs.Value("val"))))
			continue
		}
		give(th, c.Value("events").([]any))
		got, err := r.Invoke(t.Context(), fun, nil, kwargs)
		want := c.Value("ret").(*data.Map)
		if want.Has("exception") {
			if m, ok := got.(*data.Map); err != nil || !ok || m.Value("result") != false || m.Text("comment") == "" {
				t.Errorf("%s %s: %s, %v; in Salt an exception", fun, data.Repr(kwargs), data.Repr(got), err)
			}
			continue
		}
		if err != nil || !data.Equal(comparable(got), comparable(want)) {
			t.Errorf("%s %s: %s, %v; want %s", fun, data.Repr(kwargs), data.Repr(got), err, data.Repr(want))
		}
		if strings.HasPrefix(fun, "reg.") {
			entry := th.reg.values.Value(kwargs.Value("name"))
			if !data.Equal(comparable(entry), comparable(c.Value("entry"))) {
				t.Errorf("%s %s leaves %s, want %s", fun, data.Repr(kwargs), data.Repr(entry),
					data.Repr(c.Value("entry")))
			}
		}
	}
}

// What Salt's documentation says of these functions, and Salt's do not do.
func TestWhatSaltDocuments(t *testing.T) {
	now := time.Unix(1000, 0)
	th, r := functions(t, engines.Host{}, &now)
	events := []any{}
	for _, n := range []any{int64(1), 2.5, "4", "x", nil, true} {
		events = append(events, data.NewMap("tag", "a", "data", data.NewMap("n", n, "_stamp", "s")))
	}
	give(th, events)
	call(t, r, "reg.mean", "name", "m", "add", "n", "match", "a")
	want := data.NewMap("val", 8.5/4, "total", 8.5, "count", int64(4))
	if got := th.reg.values.Value("m"); data.Repr(got) != data.Repr(want) {
		t.Errorf("the mean is %s, want %s", data.Repr(got), data.Repr(want))
	}
	for range 2 { // reg.list keeps the newest values
		call(t, r, "reg.list", "name", "l", "add", "n", "match", "a", "prune", int64(2))
	}
	if v, _ := th.reg.value("l"); data.Repr(v) != "[{'n': None}, {'n': True}]" {
		t.Errorf("the list is %s", data.Repr(v))
	}
	for range 2 { // calc changes nothing
		th.reg.values.Set("v", data.NewMap("val", []any{int64(5), int64(3), int64(4)}))
		got := call(t, r, "calc.mul", "name", "v", "num", int64(2)).Value("changes").(*data.Map)
		if got.Value("Answer") != int64(12) {
			t.Errorf("the product is %s", data.Repr(got))
		}
	}
	if got := call(t, r, "check.len_eq", "name", "v", "value", int64(3)); got.Value("result") != true {
		t.Errorf("the length: %s", data.Repr(got))
	}
	call(t, r, "reg.clear", "name", "v")
	for _, fun := range []string{"check.gt", "check.len_gt"} {
		got := call(t, r, fun, "name", "v", "value", int64(3))
		if got.Value("result") != false || got.Text("comment") != "Value v not in register" {
			t.Errorf("%s of a cleared entry: %s", fun, data.Repr(got))
		}
	}
}

// A wrong entry is a failed state.
func TestEntriesOfOtherKinds(t *testing.T) {
	now := time.Unix(1000, 0)
	th, r := functions(t, engines.Host{}, &now)
	for name, v := range map[string]any{"text": "x", "none": nil, "list": []any{"a"}, "empty": []any{}} {
		th.reg.values.Set(name, data.NewMap("val", v))
	}
	for _, kwargs := range [][]any{
		{"reg.set", "name", "text", "add", "n", "match", "a"},
		{"reg.list", "name", "text", "add", "n", "match", "a"},
		{"reg.mean", "name", "text", "add", "n", "match", "a"}, {"check.gt", "name", "none", "value", int64(1)},
		{"check.len_gt", "name", "none", "value", int64(1)}, {"check.len_gt", "name", "list", "value", "x"},
		{"calc.add", "name", "text", "num", int64(1)}, {"calc.add", "name", "list", "num", int64(1)},
		{"calc.mean", "name", "empty", "num", int64(1)}, {"calc.mean", "name", "list", "num", int64(-1)},
		{"calc.calc", "name", "list", "num", int64(1), "oper", "x"},
		{"calc.add", "name", "nowhere", "num", int64(1)},
		{"timer.hold", "name", "x", "seconds", "y"},
	} {
		got := call(t, r, kwargs[0].(string), kwargs[1:]...)
		if got.Value("result") != false || got.Text("comment") == "" {
			t.Errorf("%v: %s", kwargs, data.Repr(got))
		}
	}
}

// The register has limits, as minions choose the events.
func TestLimits(t *testing.T) {
	now := time.Unix(1000, 0)
	th, r := functions(t, engines.Host{}, &now)
	big := make([]any, maxValues)
	for i := range big {
		big[i] = int64(i)
	}
	th.reg.values.Set("list", data.NewMap("val", append([]any{}, big...)))
	th.reg.values.Set("set", data.NewMap("val", data.Set(append([]any{}, big...))))
	give(th, []any{data.NewMap("tag", "a", "data", data.NewMap("n", "new")),
		data.NewMap("tag", "b", "data", data.NewMap("n", strings.Repeat("x", maxValue)))})
	for _, fun := range []string{"list", "set"} {
		call(t, r, "reg."+fun, "name", fun, "add", "n", "match", "a")
		v, _ := th.reg.value(fun)
		if n, _ := lengthOf(v); n != maxValues {
			t.Errorf("the %s has %d values", fun, n)
		}
	}
	list, _ := th.reg.value("list")
	if last := list.([]any)[maxValues-1]; data.Repr(last) != "{'n': 'new'}" {
		t.Errorf("the newest value is %s", data.Repr(last))
	}
	call(t, r, "reg.list", "name", "long", "add", "n", "match", "[ab]")
	call(t, r, "reg.set", "name", "longs", "add", "n", "match", "[ab]")
	for name, want := range map[string]string{"long": "[{'n': 'new'}, {}]", "longs": "{'new'}"} {
		if v, _ := th.reg.value(name); data.Repr(v) != want {
			t.Errorf("%s is %.100s, want %s", name, data.Repr(v), want)
		}
	}
}

func TestHold(t *testing.T) {
	now := time.Unix(1000, 0)
	_, r := functions(t, engines.Host{}, &now)
	for i, tt := range []struct {
		pass time.Duration
		want bool
	}{
		{0, false}, {30 * time.Second, false}, {time.Second, true}, {time.Second, false}, {30 * time.Second, true},
	} {
		now = now.Add(tt.pass)
		if got := call(t, r, "timer.hold", "name", "x", "seconds", int64(30)); got.Value("result") != tt.want {
			t.Errorf("call %d: %s", i, data.Repr(got))
		}
	}
}

func TestSave(t *testing.T) {
	now := time.Unix(1000, 0)
	th, r := functions(t, engines.Host{}, &now)
	th.reg.values.Set("a", data.NewMap("val", []any{int64(1), "ä"}))
	dir := r.Env().Opts.Text("cachedir")
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := call(t, r, "file.save", "name", "foo"); got.Value("result") != true {
		t.Errorf("%s", data.Repr(got))
	}
	if got := read(filepath.Join(dir, "saves", "foo")); got != `{"a": {"val": [1, "\u00e4"]}}` {
		t.Errorf("saved %s", got)
	}
	th.reg.values.Set("s", data.NewMap("val", data.Set{"x"}))
	path := filepath.Join(dir, "other", "bar")
	if got := call(t, r, "file.save", "name", path); got.Value("result") != false {
		t.Errorf("a set: %s", data.Repr(got))
	}
	if got := call(t, r, "file.save", "name", path, "filter", true); got.Value("result") != true {
		t.Errorf("%s", data.Repr(got))
	}
	if got := read(path); got != `{"a": {"val": [1, "\u00e4"]}, "s": {"val": "{'x'}"}}` {
		t.Errorf("saved %s", got)
	}
	if got := call(t, r, "file.save", "name", "../../x"); got.Value("result") != false {
		t.Errorf("a path outside: %s", data.Repr(got))
	}
	ctx := change.WithCall(t.Context(), &change.Call{Test: true})
	got, err := r.Invoke(ctx, "file.save", nil, data.NewMap("name", "dry"))
	if _, statErr := os.Stat(filepath.Join(dir, "saves", "dry")); err != nil || statErr == nil ||
		got.(*data.Map).Value("result") != nil {
		t.Errorf("in test mode: %s, %v, %v", data.Repr(got), err, statErr)
	}
}

// minions are those of a master, and what was done to their keys.
type minions struct {
	accepted, done []string
}

func (m *minions) Accepted() ([]string, error) { return m.accepted, nil }
func (m *minions) Connected() []string         { return nil }
func (m *minions) DeleteKey(_ context.Context, id string) error {
	m.done = append(m.done, "delete "+id)
	return nil
}

func TestTimeout(t *testing.T) {
	now := time.Unix(1000, 0)
	m := &minions{accepted: []string{"old", "silent", "fresh"}}
	th, r := functions(t, engines.Host{Minions: m}, &now)
	if got := call(t, r, "key.timeout", "name", "x", "delete", int64(300)); got.Value("result") != false ||
		got.Text("comment") != "Value status not in register" {
		t.Errorf("without status.reg: %s", data.Repr(got))
	}
	beacon := func(ids ...string) {
		var list []any
		for _, id := range ids {
			list = append(list, data.NewMap("tag", "salt/beacon/"+id+"/status/x", "data", data.NewMap("id", id,
				"data", data.NewMap("load", int64(1)))))
		}
		give(th, list)
		call(t, r, "status.reg", "name", "status")
		give(th, nil)
	}
	run := func(want string, kwargs ...any) {
		t.Helper()
		m.done = nil
		got := call(t, r, "key.timeout", append([]any{"name", "x"}, kwargs...)...)
		if s := strings.Join(m.done, ", "); s != want || got.Value("result") != true {
			t.Errorf("done: %s, want %s; %s", s, want, data.Repr(got))
		}
	}
	beacon("old", "fresh", "foreign")
	run("", "delete", int64(300))
	now = now.Add(200 * time.Second)
	beacon("fresh")
	run("", "delete", int64(300))
	minions, _ := th.reg.value("status")
	if minions.(*data.Map).Has("foreign") {
		t.Errorf("the status of a minion without a key is kept: %s", data.Repr(minions))
	}
	now = now.Add(101 * time.Second)
	run("delete old, delete silent", "delete", int64(300))
	m.accepted = []string{"fresh"}
	run("", "delete", int64(300))
	now = now.Add(time.Hour)
	ctx := change.WithCall(t.Context(), &change.Call{Test: true})
	if _, err := r.Invoke(ctx, "key.timeout", nil, data.NewMap("name", "x", "reject", int64(300))); err != nil ||
		len(m.done) > 0 {
		t.Errorf("in test mode: %q, %v", m.done, err)
	}
	run("reject [{'minions': ['fresh']}]{'include_accepted': True}", "reject", int64(300))
}

func TestOrders(t *testing.T) {
	now := time.Unix(1000, 0)
	var orders []string
	h := engines.Host{Order: func(_ context.Context, o *data.Map, yield func(string, *data.Map) bool) error {
		orders = append(orders, data.Repr(o))
		yield("", data.NewMap("jid", "7"))
		return nil
	}}
	_, r := functions(t, h, &now)
	for _, tt := range []struct {
		kwargs []any
		want   string
	}{
		{[]any{"local.cmd", "name", "x", "tgt", "*", "func", "test.ping"},
			"{'tgt': '*', 'tgt_type': 'glob', 'fun': 'test.ping', 'arg': [], 'ret': '', 'async': True}"},
		{[]any{"local.cmd", "name", "x", "tgt", "a,b", "tgt_type", "list", "func", "test.sleep", "arg",
			[]any{int64(3)}, "kwarg", data.NewMap("a", int64(1)), "ret", "redis", "timeout", int64(9)},
			"{'timeout': 9, 'tgt': 'a,b', 'tgt_type': 'list', 'fun': 'test.sleep', 'arg': [3, " +
				"{'a': 1, '__kwarg__': True}], 'ret': 'redis', 'async': True}"},
		{[]any{"runner.cmd", "name", "x", "func", "cloud.create", "arg", []any{"a"}, "b", int64(1)},
			"{'client': 'runner', 'fun': 'cloud.create', 'arg': ['a'], 'kwarg': {'b': 1}, 'async': True}"},
		{[]any{"runner.cmd", "name", "x.y", "kwargs", []any{data.NewMap("b", int64(1)),
			data.NewMap("c", int64(2))}},
			"{'client': 'runner', 'fun': 'x.y', 'arg': [], 'kwarg': {'b': 1, 'c': 2}, 'async': True}"},
		{[]any{"wheel.cmd", "name", "x", "func", "key.delete", "match", "m"},
			"{'client': 'wheel', 'fun': 'key.delete', 'arg': [], 'kwarg': {'match': 'm'}, 'async': True}"},
	} {
		orders = nil
		got := call(t, r, tt.kwargs[0].(string), tt.kwargs[1:]...)
		if len(orders) != 1 || orders[0] != tt.want || data.Repr(got) !=
			"{'name': '"+tt.kwargs[2].(string)+"', 'changes': {'jid': '7'}, 'result': True, 'comment': ''}" {
			t.Errorf("%v: %q, want %s; %s", tt.kwargs, orders, tt.want, data.Repr(got))
		}
		orders = nil
		ctx := change.WithCall(t.Context(), &change.Call{Test: true})
		_, err := r.Invoke(ctx, tt.kwargs[0].(string), nil, data.NewMap(tt.kwargs[1:]...))
		if err != nil || len(orders) > 0 {
			t.Errorf("%v in test mode: %q, %v", tt.kwargs, orders, err)
		}
	}
}
