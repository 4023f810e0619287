package reactor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// orders keep what was ordered.
type orders struct {
	mu   sync.Mutex
	done []string
	act  func(ctx context.Context, fun string, args []any) error
}

func (o *orders) keep(ctx context.Context, what, fun string, args []any) error {
	o.mu.Lock()
	o.done = append(o.done, what)
	o.mu.Unlock()
	if o.act == nil {
		return nil
	}
	return o.act(ctx, fun, args)
}

func (o *orders) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.done)
}

func (o *orders) Publish(ctx context.Context, p *Publication) error {
	return o.keep(ctx, fmt.Sprintf("local %s %s %s %s %s %s", data.Str(p.Target), p.TargetType,
		p.Fun, data.Repr(p.Args), p.Ret, data.Repr(p.Options)), p.Fun, p.Args)
}

func (o *orders) Run(ctx context.Context, kind runners.Kind, fun string, args []any, kwargs *data.Map) error {
	return o.keep(ctx, fmt.Sprintf("%s %s %s %s", kind, fun, data.Repr(args), data.Repr(kwargs)), fun, args)
}

func (o *orders) Call(ctx context.Context, fun string, args []any, kwargs *data.Map) error {
	var words any
	if kwargs != nil {
		words = kwargs
	}
	return o.keep(ctx, fmt.Sprintf("caller %s %s %s", fun, data.Repr(args), data.Repr(words)), fun, args)
}

// Spec knows two functions of Salt's by their parameters.
func (o *orders) Spec(_ runners.Kind, fun string) (*loader.Spec, bool) {
	switch fun {
	case "event.send":
		return &loader.Spec{Name: "send",
			Params: []loader.Param{{Name: "tag", Required: true}, {Name: "data"}}}, true
	case "error.error":
		return &loader.Spec{Name: "error",
			Params: []loader.Param{{Name: "name"}, {Name: "message", Default: ""}}}, true
	case "cache.grains":
		return &loader.Spec{Name: "grains", Params: []loader.Param{{Name: "tgt", Required: true}},
			Kwargs: "kwargs"}, true
	}
	return nil, false
}

// start runs a reactor in a bubble of synctest until the test ends.
func start(t *testing.T, bus *eventbus.Bus, o Options) *Reactor {
	t.Helper()
	o.Bus, o.Workers = bus, max(o.Workers, 1)
	if o.Log == nil {
		o.Log = silent(t)
	}
	if o.Queue == 0 {
		o.Queue = 10000
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() { ended <- r.Run(ctx, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
	return r
}

func silent(t testing.TB) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(t.Output())
	return log
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rule(tag string, files ...any) []any { return []any{data.NewMap(tag, files)} }

// fromEvent renders a runner whose arguments are the fields id and n of the event.
func fromEvent(_ context.Context, _ string, _ []byte, about *data.Map) (any, error) {
	body := about.Value("data").(*data.Map)
	arg := []any{body.Value("id"), body.Value("n")}
	return data.NewMap("r", data.NewMap("runner.do.it",
		[]any{data.NewMap("arg", arg), data.NewMap("kwarg", data.NewMap())})), nil
}

// TestThousandEvents is row 23 of the plan for reliability: reactions of 0.2 s, of which one fails
// and one blocks for five minutes. Each event is reacted to once, those of a minion in order, and
// neither the bus nor other minions wait.
func TestThousandEvents(t *testing.T) {
	path := write(t, "any.sls", "")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		at := map[string]time.Duration{}
		o := &orders{act: func(ctx context.Context, _ string, args []any) error {
			switch who := args[0].(string); {
			case who == "m7" && args[1] == int64(3):
				time.Sleep(5 * time.Minute)
			case who == "m8" && args[1] == int64(3):
				return errors.New("this one fails")
			default:
				time.Sleep(200 * time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			at[fmt.Sprint(args...)] = time.Since(began)
			return nil
		}}
		bus := eventbus.New(eventbus.Options{})
		r := start(t, bus, Options{Rules: rule("load/*", path), Render: fromEvent, Orders: o, Workers: 10})
		for n := range 10 {
			for m := range 100 {
				if err := bus.Fire("load/x", data.NewMap("id", fmt.Sprintf("m%d", m),
					"n", int64(n))); err != nil {
					t.Fatal(err)
				}
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the bus waited %v", waited)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := len(o.all()), 1000-6; got != want { // those behind the one that blocks wait
			t.Errorf("%d reactions after a minute, want %d", got, want)
		}
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		next := map[string]int{}
		for _, what := range o.all() {
			var who string
			var n int
			if _, err := fmt.Sscanf(strings.NewReplacer("[", "", "]", "", "'", "", ",",
				"").Replace(what), "runner do.it %s %d", &who, &n); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if n != next[who] {
				t.Fatalf("minion %s: reaction %d came when %d was to", who, n, next[who])
			}
			next[who]++
		}
		if len(o.all()) != 1000 || r.Dropped() != 0 {
			t.Errorf("%d reactions and %d lost, want 1000 and 0", len(o.all()), r.Dropped())
		}
		if last := at["m99 9"]; last > 30*time.Second {
			t.Errorf("the last event of m99 was reacted to after %v", last)
		}
	})
}

// TestOverflowIsCounted fires more than there is room for while the only worker is held up.
func TestOverflowIsCounted(t *testing.T) {
	path := write(t, "any.sls", "")
	synctest.Test(t, func(t *testing.T) {
		o := &orders{act: func(ctx context.Context, _ string, _ []any) error { time.Sleep(15 * time.Second); return nil }}
		bus := eventbus.New(eventbus.Options{})
		told := bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{DroppedTag}})
		defer told.Close()
		log, hook := logtest.NewNullLogger()
		r := start(t, bus, Options{Rules: rule("*", path), Render: fromEvent, Orders: o, Queue: 20, Log: log})
		fire := func(n int) {
			for i := range n {
				_ = bus.Fire("load/x", data.NewMap("n", int64(i)))
				synctest.Wait()
			}
		}
		fire(50)
		synctest.Wait()
		time.Sleep(11 * time.Second)
		fire(5)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		told.Close()
		var got []string
		for event := range told.All(t.Context()) {
			m, _ := event.Map()
			got = append(got, fmt.Sprintf("%v %v", m.Value("dropped"), m.Value("total")))
		}
		if want := []string{"29 29", "5 34"}; !slices.Equal(got, want) || r.Dropped() != 34 {
			t.Errorf("told %q, and %d in all; want %q and 34", got, r.Dropped(), want)
		}
		if n := len(hook.AllEntries()); n != 2 {
			t.Errorf("%d lines in the log, want 2", n)
		}
		time.Sleep(20 * 16 * time.Second)
		synctest.Wait()
		if n := len(o.all()); n != 21 {
			t.Errorf("%d reactions, want the one under way and 20 that waited", n)
		}
	})
}

// TestBytesAreBounded fills the queue with large events.
func TestBytesAreBounded(t *testing.T) {
	p := newPool(100, 1000)
	for i, tt := range []struct {
		size int
		want bool
	}{{5000, true}, {1, false}} {
		if got := p.offer(task{"", tt.size, nil}); got != tt.want {
			t.Errorf("offer %d = %v", i, got)
		}
	}
	if l, _ := p.next(); l == nil || p.bytes != 0 || !p.offer(task{"", 999, nil}) ||
		p.offer(task{"", 2, nil}) {
		t.Error("the room of a task that is done is not given back")
	}
}

// TestOwnEventsAreSkipped lets a reaction fire the event that it reacts to.
func TestOwnEventsAreSkipped(t *testing.T) {
	path := write(t, "any.sls", "")
	synctest.Test(t, func(t *testing.T) {
		bus := eventbus.New(eventbus.Options{})
		o := &orders{act: func(context.Context, string, []any) error {
			return bus.Fire("salt/run/1/new", data.NewMap("user", User))
		}}
		start(t, bus, Options{Rules: rule("salt/run/*", path), Render: fromEvent, Orders: o})
		_ = bus.Fire("salt/run/0/new", data.NewMap("user", "root"))
		_ = bus.Fire("other", data.NewMap())
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(o.all()); n != 1 {
			t.Errorf("%d reactions, want 1", n)
		}
	})
}

// TestPanicIsTheFaultOfOne lets one rendering panic and the next one work.
func TestPanicIsTheFaultOfOne(t *testing.T) {
	path := write(t, "any.sls", "")
	synctest.Test(t, func(t *testing.T) {
		bus, o := eventbus.New(eventbus.Options{}), &orders{}
		start(t, bus, Options{Rules: rule("x", path), Orders: o,
			Render: func(ctx context.Context, path string, text []byte, about *data.Map) (any, error) {
				if about.Value("data").(*data.Map).Has("bad") {
					panic("rendering")
				}
				return fromEvent(ctx, path, text, about)
			}})
		_ = bus.Fire("x", data.NewMap("id", "a", "bad", true))
		_ = bus.Fire("x", data.NewMap("id", "a"))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(o.all()); n != 1 {
			t.Errorf("%d reactions, want 1", n)
		}
	})
}

// TestManage changes the rules of a reactor as the runner does.
func TestManage(t *testing.T) {
	path := write(t, "any.sls", "")
	synctest.Test(t, func(t *testing.T) {
		bus, o := eventbus.New(eventbus.Options{}), &orders{}
		start(t, bus, Options{Rules: rule("a/*", path), Render: fromEvent, Orders: o,
			ID: "m_master", Key: func() string { return "secret" }})
		answers := bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{ManageTag}})
		defer answers.Close()
		for _, tt := range []struct {
			command string
			body    *data.Map
			want    string
		}{
			{"add", data.NewMap("event", "b/*", "reactors", []any{path}, "key", "wrong"), ""},
			{"add", data.NewMap("event", "b/*", "reactors", []any{path}), ""},
			{"list", data.NewMap("key", "secret"), "list-results {'reactors': [{'a/*': ['P']}]}"},
			{"add", data.NewMap("event", "b/*", "reactors", []any{path}, "key", "secret"),
				"add-complete {'result': {'status': True, 'comment': 'Reactor added.'}, 'reactors': [{'a/*': ['P']}, {'b/*': ['P']}]}"},
			{"add", data.NewMap("event", "b/*", "reactors", []any{path}, "key", "secret"),
				"add-complete {'result': {'status': False, 'comment': 'Reactor already exists.'}, 'reactors': [{'a/*': ['P']}, {'b/*': ['P']}]}"},
			{"add", data.NewMap("event", []any{}, "reactors", int64(1), "key", "secret"),
				"add-complete {'result': {'status': False, 'comment': 'The tag is no text.'}, 'reactors': [{'a/*': ['P']}, {'b/*': ['P']}]}"},
			{"delete", data.NewMap("event", "a/*", "key", "secret"),
				"delete-complete {'result': {'status': True, 'comment': 'Reactor deleted.'}, 'reactors': [{'b/*': ['P']}]}"},
			{"delete", data.NewMap("event", "a/*", "key", "secret"),
				"delete-complete {'result': {'status': False, 'comment': 'Reactor does not exists.'}, 'reactors': [{'b/*': ['P']}]}"},
			{"is_leader", data.NewMap("key", "secret"), "leader/value {'result': True}"},
			{"set_leader", data.NewMap("key", "secret", "id", "other", "value", false),
				"leader/value {'result': True}"},
			{"set_leader", data.NewMap("key", "secret", "id", "m_master", "value", false),
				"leader/value {'result': False}"},
		} {
			_ = bus.Fire("salt/run/2026/"+ManageTag+"/"+tt.command, tt.body)
			synctest.Wait()
			if got := answer(t, answers, path); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.command, got, tt.want)
			}
		}
		_ = bus.Fire("b/x", data.NewMap())
		synctest.Wait()
		if n := len(o.all()); n != 0 {
			t.Errorf("%d reactions of one that is no leader", n)
		}
	})
}

// answer returns the event that is there, "" for none.
func answer(t *testing.T, events *eventbus.Subscription, path string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	event, err := events.Next(ctx)
	if err != nil {
		return ""
	}
	m, err := event.Map()
	if err != nil {
		t.Fatal(err)
	}
	m.Delete("_stamp")
	return strings.ReplaceAll(strings.TrimPrefix(event.Tag, ManageTag+"/")+" "+data.Repr(m), path, "P")
}
