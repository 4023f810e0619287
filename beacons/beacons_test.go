package beacons

import (
	"context"
	"errors"
	"os"
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
	"github.com/brineproject/brine/yaml"
)

// A tick reports how often it was called, or does what its configuration says.
type tick struct{}

type count struct{ n int64 }

func (tick) Validate(config any) (bool, string) {
	if _, ok := config.([]any); !ok {
		return false, "Configuration for tick beacon must be a list."
	}
	return true, Valid
}

func (tick) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := State[count](ctx)
	if err != nil {
		return nil, err
	}
	n := kept.n
	kept.n++
	set := Merge(config)
	switch {
	case set.Has("raise"):
		return nil, errors.New("out of order")
	case set.Has("panic"):
		panic("out of order")
	case set.Has("none"):
		return nil, nil
	case set.Has("two"):
		return []*data.Map{data.NewMap("n", n), data.NewMap("tag", "second", "n", n, "id", "other")}, nil
	case set.Has("show"):
		return []*data.Map{data.NewMap("tag", "conf", "config", config)}, nil
	case set.Has("many"):
		var events []*data.Map
		for i := range set.Value("many").(int64) {
			events = append(events, data.NewMap("tag", "many", "n", i, "text", set.Value("text")))
		}
		return events, nil
	case set.Has("untagged"):
		return []*data.Map{data.NewMap("n", n)}, nil
	case set.Has("sleep"):
		time.Sleep(time.Duration(set.Value("sleep").(int64)) * time.Second)
	}
	return []*data.Map{data.NewMap("tag", "t", "n", n)}, nil
}

// A closing beacon notes when it is closed.
type closing struct{ tick }

func (closing) Close(context.Context, any) error { return nil }

// plugins are the beacons of the tests. bare is like one of users' own without validate.
func plugins() []loader.Plugin {
	return []loader.Plugin{
		Plugin("tick", "", func(*loader.Env) (Beacon, error) { return tick{}, nil }),
		Plugin("closing", "", func(*loader.Env) (Beacon, error) { return closing{}, nil }),
		Plugin("refused", "", func(*loader.Env) (Beacon, error) { return nil, errors.New("not here") }),
		{Name: "bare", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("beacon",
				func(context.Context, configArgs) (any, error) { return []any{data.NewMap("ok", true)}, nil })}}, nil
		}},
	}
}

// A probe is an engine, with what it fires and logs.
type probe struct {
	*Engine
	functions *loader.Registry
	log       *logtest.Hook

	mu     sync.Mutex
	events []any // of ReturnTag
	others []any // tag and body of other events
}

func newProbe(t *testing.T, config, pillar *data.Map, running ...string) *probe {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{}, plugins())
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.InfoLevel)
	p := &probe{functions: functions, log: logtest.NewLocal(log)}
	p.Engine = New(Options{ID: "web1", Functions: functions, Config: config, Pillar: pillar, Log: log,
		Running: func() []string { return running }, Fire: p.fired})
	return p
}

func (p *probe) fired(tag string, body *data.Map) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tag == ReturnTag {
		p.events = append(p.events, data.ListOf(body.Value("beacons"))...)
	} else {
		p.others = append(p.others, data.NewMap("tag", tag, "body", body))
	}
	return nil
}

// after lets a number of turns pass and returns their events.
func (p *probe) after(turns int) []any {
	time.Sleep(time.Duration(turns) * time.Second)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

// during runs f while the engine runs, in the middle of its turns.
func (p *probe) during(t *testing.T, f func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = p.Run(ctx) })
	time.Sleep(time.Second / 2)
	f()
	stop()
	done.Wait()
}

func (p *probe) lines() []string {
	var lines []string
	for _, e := range p.log.AllEntries() {
		lines = append(lines, strings.ToUpper(e.Level.String())+" "+e.Message)
	}
	return lines
}

// recorded returns cases with the answers of Salt.
func recorded(t *testing.T, kind string) []any {
	t.Helper()
	src, err := os.ReadFile("testdata/engine.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := data.ListOf(v.(*data.Map).Value(kind))
	if len(list) == 0 {
		t.Fatalf("testdata has no %s", kind)
	}
	return list
}

func mapOf(v any) *data.Map { m, _ := v.(*data.Map); return m }

// TestTurns compares the events of turns, and the log, with those of Salt.
func TestTurns(t *testing.T) {
	for _, c := range recorded(t, "turns") {
		c := mapOf(c)
		t.Run(c.Text("name"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProbe(t, mapOf(c.Value("config")), nil, data.TextsOf(c.Value("running"))...)
				p.during(t, func() {
					for i, want := range data.ListOf(c.Value("events")) {
						if got := p.after(1); !data.Equal(data.ListOf(want), append([]any{}, got...)) {
							t.Errorf("turn %d: %s\nSalt:   %s", i, data.Repr(got), data.Repr(want))
						}
					}
				})
				got, want := p.lines(), data.TextsOf(c.Value("log"))
				slices.Sort(got)
				slices.Sort(want)
				if got = slices.Compact(got); !slices.Equal(got, want) {
					t.Errorf("log:  %q\nSalt: %q", got, want)
				}
				if fired := c.Value("fired"); !data.Equal(data.ListOf(fired), append([]any{}, p.others...)) {
					t.Errorf("fired %s\nSalt: %s", data.Repr(p.others), data.Repr(fired))
				}
			})
		})
	}
}

// TestRequests compares the answers to requests with those of Salt.
func TestRequests(t *testing.T) {
	for _, c := range recorded(t, "requests") {
		c := mapOf(c)
		p := newProbe(t, mapOf(c.Value("config")), mapOf(c.Value("pillar")))
		for _, s := range data.ListOf(c.Value("steps")) {
			s := mapOf(s)
			tag, body, err := p.Manage(t.Context(), mapOf(s.Value("request")))
			if err != nil || tag != s.Text("tag") || !data.Equal(body, s.Value("body")) {
				t.Errorf("%s:\n      %s %s, %v\nSalt: %s %s", data.Repr(s.Value("request")), tag, data.Repr(body),
					err, s.Text("tag"), data.Repr(s.Value("body")))
			}
		}
	}
}

func TestBadRequests(t *testing.T) {
	p := newProbe(t, nil, nil)
	for _, request := range []*data.Map{data.NewMap(), data.NewMap("func", "explode"),
		data.NewMap("func", "add", "name", []any{})} {
		if tag, _, err := p.Manage(t.Context(), request); !errors.Is(err, ErrRequest) || tag != "" {
			t.Errorf("%s: %q %v", data.Repr(request), tag, err)
		}
	}
	_, body, err := p.Manage(t.Context(), data.NewMap("func", "list_available"))
	if err != nil || data.Repr(body.Value("beacons")) != "['bare', 'closing', 'tick']" {
		t.Errorf("list_available: %s %v", data.Repr(body), err)
	}
	_, body, err = p.Manage(t.Context(), data.NewMap("func", "disable_beacon", "name", "none"))
	if err != nil || body.Value("complete") != false {
		t.Errorf("disable_beacon: %s %v", data.Repr(body), err)
	}
}

func TestSlowBeaconDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("slow", []any{data.NewMap("beacon_module", "tick", "sleep", int64(10))},
			"tick", []any{}), nil)
		p.during(t, func() {
			if got := names(p.after(10)); got != strings.Repeat("tick ", 10) {
				t.Errorf("in ten turns: %s", got)
			}
			if got := names(p.after(1)); !strings.Contains(got, "slow ") {
				t.Errorf("then: %s", got)
			}
		})
	})
}

// names returns the names of the beacons of events.
func names(events []any) string {
	text := ""
	for _, e := range events {
		text += strings.Split(mapOf(e).Text("tag"), "/")[3] + " "
	}
	return text
}

func TestPanicBecomesAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("tick", []any{data.NewMap("panic", true)}), nil)
		p.during(t, func() {
			for range 2 {
				got := p.after(1)
				if len(got) != 1 || mapOf(got[0]).Text("error") != "out of order" {
					t.Errorf("events %s", data.Repr(got))
				}
			}
		})
	})
}

func TestChangesOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, nil, nil)
		counted := func(want string) {
			t.Helper()
			var got []string
			for _, e := range p.after(1) {
				m := mapOf(e)
				got = append(got, strings.TrimPrefix(m.Text("tag"), "salt/beacon/web1/")+
					data.Str(mapOf(m.Value("data")).Value("n")))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		request := func(pairs ...any) {
			t.Helper()
			if _, _, err := p.Manage(t.Context(), data.NewMap(pairs...)); err != nil {
				t.Error(err)
			}
		}
		p.during(t, func() {
			counted("")
			p.SetPillar(data.NewMap("a", []any{data.NewMap("beacon_module", "tick")}))
			counted("a/t0")
			p.SetConfig(data.NewMap("tick", []any{}))
			counted("a/t1 tick/t0")
			p.Refresh() // built-in beacons keep what they have
			counted("a/t2 tick/t1")
			request("func", "add", "name", "b", "beacon_data", []any{data.NewMap("beacon_module", "tick")})
			counted("a/t3 tick/t2 b/t0")
			p.SetConfig(data.NewMap("tick", []any{})) // nothing has changed there
			counted("a/t4 tick/t3 b/t1")
			p.SetConfig(data.NewMap("tick", []any{data.NewMap("k", "v")}))
			counted("a/t5 tick/t0 b/t2")
			request("func", "disable_beacon", "name", "tick")
			counted("a/t6 b/t3")
			request("func", "enable_beacon", "name", "tick")
			counted("a/t7 tick/t0 b/t4")
			request("func", "disable")
			counted("")
			request("func", "enable")
			p.SetPillar(nil)
			counted("tick/t0 b/t0")
			p.SetConfig(nil)
			request("func", "delete", "name", "b")
			counted("")
		})
	})
}

func TestUnavailableBeacon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("refused", []any{}, "tick", []any{data.NewMap("interval", "soon")}), nil)
		p.during(t, func() {
			if got := p.after(3); len(got) > 0 {
				t.Errorf("events %s", data.Repr(got))
			}
		})
		got := strings.Join(p.lines(), "|")
		for _, want := range []string{"ERROR Unable to load refused beacon: not here",
			"Beacon tick configuration invalid, not running.\ninterval: expected seconds, got 'soon'"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("log %q, want once %q", got, want)
			}
		}
	})
}

// A resource is closed when its beacon ends.
type resource struct{ ended *bool }

func (r *resource) Close() error { *r.ended = true; return nil }

func TestStateEndsWithItsBeacon(t *testing.T) {
	ended := false
	ctx, scope := loader.WithScope(t.Context())
	for i := range 2 {
		r, first, err := State[resource](ctx)
		if err != nil || first != (i == 0) {
			t.Fatalf("State: %v %v", first, err)
		}
		r.ended = &ended
	}
	if err := scope.Close(); err != nil || !ended {
		t.Errorf("Close: %v, ended %v", err, ended)
	}
	if _, _, err := State[resource](t.Context()); err == nil {
		t.Error("there is a state without a scope")
	}
}

func TestClean(t *testing.T) {
	for tag, want := range map[string]string{"salt/beacon/web1/inotify//etc/motd": "", "a b\n": "a%20b%0A",
		"ü": "%C3%BC", strings.Repeat("x", 2000): strings.Repeat("x", 1000)} {
		if want == "" {
			want = tag
		}
		if got := clean(tag); got != want {
			t.Errorf("clean(%q) = %q", tag, got)
		}
	}
}

// TestManyEvents lets the events of a turn pass the bus of a minion, which replaces long lists by a text.
func TestManyEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 15_000
		bus := eventbus.New(eventbus.Options{})
		sub := bus.Subscribe(eventbus.SubscribeOptions{Prefixes: []string{ReturnTag}})
		defer sub.Close()
		p := newProbe(t, data.NewMap("tick", []any{
			data.NewMap("many", int64(many), "text", strings.Repeat("x", 40))}), nil)
		p.o.Fire = bus.Fire
		var seen int64
		p.during(t, func() {
			time.Sleep(time.Second)
			for seen < many {
				event, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				body, err := event.Map()
				list, ok := body.Value("beacons").([]any)
				if err != nil || !ok || len(event.Data) > eventbus.DefaultMaxEventSize {
					t.Fatalf("event of %d bytes: %T %v", len(event.Data), body.Value("beacons"), err)
				}
				for _, e := range list {
					if n := mapOf(mapOf(e).Value("data")).Value("n"); n != seen {
						t.Fatalf("event %v, want %d", n, seen)
					}
					seen++
				}
			}
		})
	})
}

// TestLargeEvent fires an event that alone is larger than max_event_size.
func TestLargeEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("tick", []any{
			data.NewMap("many", int64(2), "text", strings.Repeat("x", 2<<20))}), nil)
		p.during(t, func() {
			if got := len(p.after(1)); got != 2 {
				t.Errorf("%d events", got)
			}
		})
	})
}

func TestMostEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("tick", []any{data.NewMap("many", int64(mostEvents+1))}), nil)
		p.during(t, func() {
			for range 2 {
				if got := len(p.after(1)); got != mostEvents {
					t.Errorf("%d events", got)
				}
			}
		})
		want := "WARNING Beacon tick reported 20001 events in a turn; only the first 20000 are sent."
		if got := p.lines(); !slices.Equal(got, []string{want}) {
			t.Errorf("log %q", got)
		}
	})
}

// TestTagsOfNames checks that the name of a beacon is cleaned too, in events with and without a tag and
// in those of errors.
func TestTagsOfNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("my tick", []any{data.NewMap("beacon_module", "tick", "untagged", true)},
			"ü", []any{data.NewMap("beacon_module", "tick", "raise", true)}), nil)
		p.during(t, func() {
			got := p.after(1)
			want := []string{"salt/beacon/web1/my%20tick/", "salt/beacon/web1/%C3%BC/"}
			if len(got) != 2 || mapOf(got[0]).Text("tag") != want[0] || mapOf(got[1]).Text("tag") != want[1] {
				t.Errorf("events %s, want tags %q", data.Repr(got), want)
			}
		})
	})
}

func TestBusyBeaconIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, data.NewMap("slow", []any{data.NewMap("beacon_module", "tick", "sleep", int64(200))}), nil)
		p.during(t, func() {
			p.after(150)
			if got := p.lines(); !slices.Equal(got, []string{"WARNING Beacon slow has not ended for 60 turns."}) {
				t.Errorf("log %q", got)
			}
			p.after(51)
		})
	})
}
