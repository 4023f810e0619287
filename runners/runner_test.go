package runners

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type pairArgs struct {
	A any
	B any       `default:"2"`
	K *data.Map `kwargs:"k"`
}

type strictArgs struct {
	Match any
	All   bool `default:"False"`
}

// shelf has functions that end in every possible way.
func shelf(t *testing.T) *loader.Registry {
	t.Helper()
	give := func(v any, err error) func(context.Context, loader.NoArgs) (any, error) {
		return func(context.Context, loader.NoArgs) (any, error) { return v, err }
	}
	plugin := loader.Plugin{Name: "x", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("pair", func(_ context.Context, a pairArgs) (any, error) { return []any{a.A, a.B, a.K}, nil }).Document("\n    Docs.\n    "),
			loader.F("strict", func(_ context.Context, a strictArgs) (any, error) { return a.Match, nil }),
			loader.F("fails", give(nil, errors.New("disk full"))),
			loader.F("value", give(nil, loader.Exception("ValueError", "bad"))),
			loader.F("wrong", give(nil, loader.Invocation("no such thing"))).Document("\n    Docs.\n    "),
			loader.F("exact", give(true, nil)).Strict().Document("Docs."),
			loader.F("unable", give(nil, &UnableError{Text: "not here"})),
			loader.F("panics", func(context.Context, loader.NoArgs) (any, error) { panic("boom") }),
			loader.F("coded", func(ctx context.Context, _ loader.NoArgs) (any, error) {
				loader.ContextOf(ctx).SetRetcode(3)
				return true, nil
			}),
			loader.F("states", give(data.NewMap("data",
				data.NewMap("m", data.NewMap("s", data.NewMap("result", false)))), nil)),
			loader.F("good", give(data.NewMap("data",
				data.NewMap("m", data.NewMap("s", data.NewMap("result", nil)))), nil)),
			loader.F("told", func(ctx context.Context, _ loader.NoArgs) (any, error) {
				r := RunOf(ctx)
				r.Progress(ctx, "half of %s", r.ID)
				r.Printf("shown\n")
				return r.User + " " + r.Tag, nil
			}),
		}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, []loader.Plugin{plugin})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// world records what a client fires, stores and shows.
type world struct {
	fired, shown []string
	kept         int
}

func (w *world) client(t *testing.T, kind Kind) *Client {
	log := logrus.New()
	log.SetLevel(logrus.PanicLevel)
	return New(Options{Kind: kind, Functions: shelf(t), ID: "m", Log: log,
		Fire: func(_ context.Context, tag string, _ *data.Map) error { w.fired = append(w.fired, tag); return nil },
		Keep: func(context.Context, *Done) error { w.kept++; return nil }})
}

// TestResultsMatchSalt compares results with those of salt/client/mixins.py, low; of tracebacks it
// compares the first and last line.
func TestResultsMatchSalt(t *testing.T) {
	for _, tt := range []struct {
		call    Call
		ret     string // as Python's str; of a traceback the first line, … and the last
		success bool
		code    any
		tells   int // events
	}{
		{Call{Fun: "x.pair", Args: []any{int64(1)}}, "[1, 2, {}]", true, nil, 2},
		{Call{Fun: "x.pair", Kwargs: data.NewMap("a", "x", "z", true)},
			"['x', 2, {'z': True}]", true, nil, 2},
		{Call{Fun: "x.pair"}, "\nPassed invalid arguments: pair() missing 1 required positional argument: 'a'\n\nUsage:\n\n    Docs.\n    ", true, nil, 2},
		{Call{Fun: "x.wrong"}, "\nPassed invalid arguments: no such thing\n\nUsage:\n\n    Docs.\n    ", true, nil, 2},
		// of functions that Salt does not have
		{Call{Fun: "x.exact"}, "True", true, nil, 2},
		{Call{Fun: "x.exact", Kwargs: data.NewMap("membr", "x")}, "\nPassed invalid arguments: exact() got an unexpected " +
			"keyword argument 'membr'\n\nUsage:\nDocs.", false, int64(1), 2},
		{Call{Fun: "x.fails"}, "Exception occurred in runner x.fails: Traceback (most recent call last):…salt.exceptions.CommandExecutionError: disk full", false, int64(1), 2},
		{Call{Fun: "x.value"}, "Exception occurred in runner x.value: Traceback (most recent call last):…ValueError: bad", false, int64(1), 2},
		{Call{Fun: "x.unable"}, "not here", false, int64(1), 2},
		{Call{Fun: "x.panics"}, "Exception occurred in runner x.panics: Traceback (most recent call last):…RuntimeError: boom", false, int64(1), 2},
		{Call{Fun: "x.nosuch"}, "Exception occurred in runner x.nosuch: Traceback (most recent call last):…salt.exceptions.CommandExecutionError: 'x.nosuch' is not available.", false, int64(1), 1},
		{Call{Fun: "x.coded"}, "True", false, nil, 2},
		{Call{Fun: "x.states"}, "{'data': {'m': {'s': {'result': False}}}}", false, nil, 2},
		{Call{Fun: "x.good"}, "{'data': {'m': {'s': {'result': None}}}}", true, nil, 2},
		{Call{Fun: "x.pair", Low: data.NewMap("a", "x", "more", int64(1), "token", "t")},
			"['x', 2, {'more': 1}]", true, nil, 2},
		{Call{Fun: "x.pair", Low: data.NewMap("arg", []any{"y"},
			"kwarg", data.NewMap("b", int64(3)))}, "['y', 3, {}]", true, nil, 2},
		{Call{Fun: "x.strict", Low: data.NewMap("match", "m")}, "m", true, nil, 2},
		{Call{Fun: "x.strict", Low: data.NewMap("username", "u")}, "Exception occurred in runner x.strict: " +
			"Traceback (most recent call last):…salt.exceptions.SaltInvocationError: strict takes at " +
			"least 1 argument (0 given)", false, int64(1), 1},
		{Call{Fun: "x.strict", Low: data.NewMap("match", "m", "q", int64(1))},
			"Exception occurred in runner x.strict: " +
				"Traceback (most recent call last):…salt.exceptions.SaltInvocationError: 'q' is an invalid " +
				"keyword argument for 'runner.x.strict'", false, int64(1), 1},
	} {
		t.Run(tt.call.Fun, func(t *testing.T) {
			w := &world{}
			tt.call.JID, tt.call.User = "20261122010203040506", "ann"
			done := w.client(t, Runner).Run(t.Context(), tt.call)
			got := data.Str(done.Value("return"))
			if first, last, ok := strings.Cut(tt.ret, "…"); ok {
				if !strings.HasPrefix(got, first+"\n") || !strings.HasSuffix(got, "\n"+last+"\n") {
					t.Errorf("return is %q, want %q", got, tt.ret)
				}
			} else if got != tt.ret {
				t.Errorf("return is %q, want %q", got, tt.ret)
			}
			if done.Value("success") != tt.success || done.Value("retcode") != tt.code {
				t.Errorf("success %v, retcode %v, want %v, %v", done.Value("success"),
					done.Value("retcode"), tt.success, tt.code)
			}
			if len(w.fired) != tt.tells ||
				w.fired[len(w.fired)-1] != "salt/run/20261122010203040506/ret" || w.kept != 1 {
				t.Errorf("fired %v, kept %d", w.fired, w.kept)
			}
		})
	}
}

func TestRunTellsAndShows(t *testing.T) {
	w := &world{}
	done := w.client(t, Wheel).Run(t.Context(),
		Call{Fun: "x.told", JID: "20261122010203040506", User: "ann", Tag: true,
			Show:  func(suffix string, _ *data.Map) { w.shown = append(w.shown, suffix) },
			Print: func(text string) { w.shown = append(w.shown, text) }})
	const tag = "salt/wheel/20261122010203040506"
	if got := strings.Join(w.fired, " "); got != tag+"/new "+tag+"/progress "+tag+"/ret" {
		t.Errorf("fired %s", got)
	}
	if got := strings.Join(w.shown, " "); got != "progress shown\n ret" {
		t.Errorf("shown %q", got)
	}
	if done.Text("tag") != tag || done.Value("return") != "ann "+tag {
		t.Errorf("data %s", data.Repr(done))
	}
}

func TestRaise(t *testing.T) {
	for class, want := range map[string]string{"": "Exception: m", "ValueError": "ValueError: m",
		"SaltInvocationError": "salt.exceptions.SaltInvocationError: m",
		"Nosuch":              "salt.exceptions.SaltException: m"} {
		if got := loader.Traceback(Raise(class, "m")); !strings.HasSuffix(got, "\n"+want+"\n") {
			t.Errorf("%q gives %q, want %s", class, got, want)
		}
	}
	if loader.KindOf(Raise("TypeError", "m")) != loader.KindType {
		t.Error("TypeError is none")
	}
}

// FuzzFromLow calls functions with chunks as they may come from the network.
func FuzzFromLow(f *testing.F) {
	f.Add("match", "x", true)
	f.Add("kwarg", "{}", false)
	spec := &loader.Spec{Name: "f",
		Params: []loader.Param{{Name: "match", Required: true}, {Name: "all", Default: false}}}
	f.Fuzz(func(t *testing.T, key, value string, arg bool) {
		low := data.NewMap(key, value)
		if arg {
			low.Set("arg", value)
		}
		args, kwargs, err := FromLow(spec, "runner.f", low)
		if err == nil {
			if _, err := spec.Bind(args, kwargs); err != nil && !low.Has("arg") {
				t.Errorf("%v %v do not fit: %v", args, kwargs, err)
			}
		}
	})
}
