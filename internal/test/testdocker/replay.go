package testdocker

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A Minion calls functions and states over an engine.
type Minion struct {
	Engine            *Engine // nil for a real one
	functions, states *loader.Registry
	opts              *data.Map
}

// SetOptions changes options of the minion.
func (m *Minion) SetOptions(opts *data.Map) { m.opts.Update(opts) }

// Option returns an option of the minion.
func (m *Minion) Option(name string) any { return m.opts.Value(name) }

// NewMinion returns a minion with a new engine. functions and states are what it has.
func NewMinion(t testing.TB, functions, states []loader.Plugin) *Minion {
	t.Helper()
	e := New()
	e.Root = t.TempDir()
	m := NewMinionOf(t, e.Listen(t), functions, states)
	m.Engine = e
	return m
}

// NewMinionOf returns a minion with the engine at a URL.
func NewMinionOf(t testing.TB, url string, functions, states []loader.Plugin) *Minion {
	t.Helper()
	opts := data.NewMap("id", "web1", "docker.url", url, "docker.update_mine", false)
	t.Setenv("HOME", t.TempDir()) // without logins
	fs, err := loader.NewRegistry(&loader.Env{Opts: opts}, functions)
	if err != nil {
		t.Fatal(err)
	}
	ss, err := loader.NewRegistry(&loader.Env{Opts: opts, Functions: fs, Call: fs.Invoke}, states)
	if err != nil {
		t.Fatal(err)
	}
	return &Minion{functions: fs, states: ss, opts: opts}
}

// Call calls a function.
func (m *Minion) Call(t testing.TB, fun string, args []any, kwargs *data.Map) (any, error) {
	t.Helper()
	return m.functions.Invoke(loader.WithContext(t.Context(), &loader.Context{}), fun, args, kwargs)
}

// State runs a state.
func (m *Minion) State(t testing.TB, test bool, fun string, kwargs *data.Map) (any, error) {
	t.Helper()
	call := *change.CallOf(t.Context())
	call.Test = test
	return m.states.Invoke(loader.WithContext(change.WithCall(t.Context(), &call), &loader.Context{}), fun, nil, kwargs)
}

// Replay runs the cases of a file, each with an engine of its own, and compares each step with what Salt
// returned. A case has a name and steps. A step is a function (fun, args, kwargs) or a state (state, name,
// kwargs, test), with Salt's result (return) or the text of its error (error). Times are left out.
func Replay(t *testing.T, file string, functions, states []loader.Plugin) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(src))
	if err != nil {
		t.Fatal(err)
	}
	cases := v.([]any)
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	for _, v := range cases {
		c := v.(*data.Map)
		t.Run(c.Text("name"), func(t *testing.T) {
			m := NewMinion(t, functions, states)
			for i, v := range c.Value("steps").([]any) {
				m.step(t, i, v.(*data.Map))
			}
		})
	}
}

func (m *Minion) step(t *testing.T, i int, step *data.Map) {
	t.Helper()
	kwargs, _ := step.Value("kwargs").(*data.Map)
	if kwargs == nil {
		kwargs = data.NewMap()
	}
	var got any
	var err error
	if step.Has("state") {
		kwargs.Set("name", step.Value("name"))
		before := m.Engine.picture()
		got, err = m.State(t, step.Value("test") == true, step.Text("state"), kwargs)
		if after := m.Engine.picture(); step.Value("test") == true && after != before {
			t.Errorf("step %d: test mode changed the engine from\n%s\nto\n%s", i, before, after)
		}
	} else {
		args, _ := step.Value("args").([]any)
		got, err = m.Call(t, step.Text("fun"), args, kwargs)
	}
	if want, ok := step.Get("error"); ok {
		if err == nil || untimed(err.Error()) != untimed(data.Str(want)) {
			t.Errorf("step %d: %s\n got %s, %v\nwant the error %s", i, data.Repr(step), data.Repr(got), err, want)
		}
		return
	}
	if want := step.Value("return"); err != nil || !data.Equal(settled(t, got), settled(t, want)) {
		t.Errorf("step %d: %s %s %s\n got %s, %v\nwant %s", i, step.Text("fun"), step.Text("state"), data.Repr(kwargs),
			data.Repr(settled(t, got)), err, data.Repr(want))
	}
}

var elapsed = regexp.MustCompile(`(Time_Elapsed:\s+)\S+`)

// untimed returns a text without the time that something took.
func untimed(text string) string { return elapsed.ReplaceAllString(text, "${1}0") }

// picture describes all that the engine has.
func (e *Engine) picture() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []any
	for _, c := range e.containers {
		all = append(all, e.describe(c))
	}
	for _, n := range e.networks {
		all = append(all, e.describeNetwork(n, true))
	}
	for _, img := range e.images {
		all = append(all, img.id, img.tags)
	}
	text, err := json.Marshal(append(all, e.volumes))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// settled returns a value as JSON has it, without times.
func settled(t *testing.T, v any) any {
	t.Helper()
	if p, ok := v.(interface{ Plain() any }); ok {
		v = p.Plain()
	}
	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		t.Fatal(err)
	}
	v, err = pyjson.Load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return timeless(v)
}

func timeless(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	case *data.Map:
		v.Delete("Time_Elapsed")
		v.Delete("Time_Created_Local")
		for _, k := range v.Keys() {
			v.Set(k, timeless(v.Value(k)))
		}
	}
	return v
}
