package engines

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

func TestParts(t *testing.T) {
	var made []string
	engines := map[string]Make{"look": func(h Host, options *data.Map) (func(context.Context) error, error) {
		if err := Only(options, "a"); err != nil {
			return nil, err
		}
		made = append(made, h.Name+" "+data.Repr(options))
		return func(context.Context) error { return nil }, nil
	}}
	for _, tt := range []struct {
		name    string
		option  any
		want    []string
		unknown bool
		err     string
	}{
		{name: "nothing"},
		{name: "names and options", option: []any{"look",
			data.NewMap("look", data.NewMap("a", int64(1))), data.NewMap("mine",
				data.NewMap("engine_module", "look")), data.NewMap("look", nil)},
			want: []string{"look {}", "look 2 {'a': 1}", "mine {}", "look 3 {}"}},
		{name: "the reactor is there anyway",
			option: []any{"reactor", data.NewMap("reactor", data.NewMap("worker_hwm", int64(1)))}},
		{name: "a wrong option of the reactor", option: []any{data.NewMap("reactor", data.NewMap("worker_hwm",
			"x"))},
			err: "engines: reactor: worker_hwm: expected a number"},
		{name: "one that is not there", option: []any{"slack", "look"}, want: []string{"look {}"},
			unknown: true, err: "engines: slack: unknown engine"},
		{name: "a wrong option", option: []any{data.NewMap("look", data.NewMap("b", int64(1)))},
			err: "engines: look: option b is unknown; the options are a"},
		{name: "options that are none", option: []any{data.NewMap("look", "x")},
			err: "engines: entry 1: look: expected a mapping of options, got the text \"x\""},
		{name: "no list", option: "look", err: "engines: expected a list"},
		{name: "two names", option: []any{data.NewMap("a", nil, "b", nil)},
			err: "expected a name, or one name with options"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made = nil
			parts, err := Parts(tt.option, engines, Host{})
			if tt.err == "" && err != nil ||
				tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) ||
				errors.Is(err, ErrUnknown) != tt.unknown {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if !slices.Equal(made, tt.want) || len(parts) != len(tt.want) {
				t.Errorf("%d parts, made %q, want %q", len(parts), made, tt.want)
			}
		})
	}
}

// TestWords compares with results of Python's shlex.split.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want []string
		bad  bool
	}{
		{in: `/a/b -c "d e" 'f "g' h\ i`, want: []string{"/a/b", "-c", "d e", `f "g`, "h i"}},
		{in: `a "" "b\"c\d"`, want: []string{"a", "", `b"c\d`}},
		{in: `$(rm) | > x`, want: []string{"$(rm)", "|", ">", "x"}},
		{in: []any{"a b", int64(1)}, want: []string{"a b", "1"}},
		{in: `"a`, bad: true}, {in: `a\`, bad: true}, {in: " ", bad: true}, {in: nil, bad: true},
		{in: []any{}, bad: true},
	} {
		got, err := Words(tt.in)
		if !slices.Equal(got, tt.want) || (err != nil) != tt.bad {
			t.Errorf("Words(%v) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestParseLine(t *testing.T) {
	for _, tt := range []struct{ line, tag, data, err string }{
		{line: `{"tag": "a/b", "data": {"z": 1, "a": [true, null]}}`, tag: "a/b",
			data: "{'z': 1, 'a': [True, None]}"},
		{line: `{"tag": "a/b"}`, tag: "a/b", data: "{}"},
		{line: `{"data": {}}`}, {line: `{"tag": ""}`},
		{line: `hello`, err: "JSON"}, {line: `[1]`, err: "not a JSON object"},
		{line: `{"tag": 1}`, err: "not text"}, {line: `{"tag": "a b"}`, err: "tag"},
		{line: `{"tag": "a\n\nb"}`, err: "tag"}, {line: `{"tag": "a", "data": 1}`,
			err: "data of the event a is not a JSON object"},
	} {
		e, ok, err := ParseLine([]byte(tt.line))
		if tt.err != "" {
			if err == nil || ok || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v %v, want %q", tt.line, ok, err, tt.err)
			}
			continue
		}
		if err != nil || ok != (tt.tag != "") || ok && (e.Tag != tt.tag || data.Repr(e.Data) != tt.data) {
			t.Errorf("%s: %v %v %v", tt.line, e, ok, err)
		}
	}
}

// FuzzParseLine parses any output of a program: an accepted event can be fired.
func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{`{"tag": "a/b", "data": {"z": 1}}`, `{"tag": "a"}`, `[`,
		`{"tag": "a", "data": {"a": NaN, "b": 1e999}}`} {
		f.Add([]byte(seed))
	}
	h := Host{ID: "m", Bus: eventbus.New(eventbus.Options{})}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok, err := ParseLine(line)
		if err != nil || !ok {
			return
		}
		if err := h.Fire(t.Context(), e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	})
}

func TestReactorOf(t *testing.T) {
	got := ReactorOf([]any{"look", data.NewMap("reactor", data.NewMap("worker_threads", int64(3),
		"refresh_interval", int64(60)))})
	if got != (Reactor{Workers: 3}) || ReactorOf(nil) != (Reactor{}) ||
		ReactorOf([]any{"reactor"}) != (Reactor{}) {
		t.Errorf("got %v", got)
	}
}
