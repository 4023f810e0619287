// Package exchange makes calls of modules and runs states over a web server with recorded answers. It
// compares the requests and the results with those of Salt.
//
// A file is a list of objects. answers has the answers of the server by request, METHOD ADDRESS with sorted
// parameters: a status and a body, which is a text or a value for JSON. A request without an answer gets
// status 404. Once the server has got a request that writes, the answers of after take the place of those
// of the same request. The word URL stands for the address of the server.
//
// A call has fun, args, kwargs; value is Salt's result, or error the class and text of its exception, and
// sent are the requests that Salt sent: each with its body as a value or text, and the header
// Authorization. For a state, fun is its function, name and kwargs its arguments, and steps are its runs,
// each with its test mode, Salt's result (return) and the requests that write (sent). After the steps a
// state that succeeded runs twice more, for real and in test mode, and must change nothing and write
// nothing. Values have the form of package vectors.
package exchange

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

// Options configure how the cases of a file are run.
type Options struct {
	// of the minion; the word URL in its texts stands for the address of the server
	Opts    *data.Map
	OptsFor func(url string) *data.Map // the same for the address of the server, in place of Opts
	Value   func(any) any              // what of a result is compared; nil for all of it
	Pillar  *data.Map
	Modules []loader.Plugin
	States  []loader.Plugin
	// Key returns how a request is called in a file; nil for METHOD ADDRESS.
	Key func(fakeweb.Request) string
	// Write reports whether a request changes something; nil for all but GET and HEAD.
	Write func(key string) bool
}

// A world is a server with the answers of a case.
type world struct {
	Options
	server *fakeweb.Server

	mu      sync.Mutex
	answers *data.Map
	after   *data.Map
	written bool
}

// Check runs the cases of a file.
func Check(t *testing.T, file string, o Options) {
	t.Helper()
	if o.Key == nil {
		o.Key = func(r fakeweb.Request) string { return fakeweb.Sorted(r.Line()) }
	}
	if o.Write == nil {
		o.Write = func(key string) bool {
			return !strings.HasPrefix(key, "GET ") && !strings.HasPrefix(key, "HEAD ")
		}
	}
	w := &world{Options: o}
	w.server = fakeweb.New(t, w.answer)
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "URL", w.server.URL)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	opts, _ := replaced(o.Opts, w.server.URL).(*data.Map)
	if o.OptsFor != nil {
		opts = o.OptsFor(w.server.URL)
	}
	pillar := o.Pillar
	env := &loader.Env{Opts: opts, Pillar: func() *data.Map { return pillar }}
	for _, v := range list {
		c := v.(*data.Map)
		if c.Has("steps") {
			w.state(t, c, runs.New(t, env, o.Modules, o.States...))
		} else {
			w.call(t, c, env)
		}
	}
}

// replaced replaces the word URL in the texts of a value.
func replaced(v any, url string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "URL", url)
	case *data.Map:
		m := &data.Map{}
		for k, one := range v.All() {
			m.Set(k, replaced(one, url))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = replaced(one, url)
		}
		return list
	}
	return v
}

func (w *world) begin(c *data.Map) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers, _ = c.Value("answers").(*data.Map)
	w.after, _ = c.Value("after").(*data.Map)
	w.written = false
	w.server.Take()
}

func (w *world) answer(r fakeweb.Request) *fakeweb.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := w.Key(r)
	v, ok := w.answers.Get(key)
	if later, changed := w.after.Get(key); changed && w.written {
		v, ok = later, true
	}
	if w.Write(key) {
		w.written = true
	}
	list, _ := v.([]any)
	if !ok || len(list) != 2 {
		return &fakeweb.Answer{Status: 404, Kind: "application/json", Body: `{"message": "not found"}`}
	}
	status, _ := list[0].(int64)
	body, is := list[1].(string)
	if !is {
		raw, err := pyjson.Append(nil, list[1], pyjson.Options{Comma: ",", Colon: ":"})
		if err != nil {
			panic(err)
		}
		body = string(raw)
	}
	return &fakeweb.Answer{Status: int(status), Kind: "application/json", Body: body}
}

// sent returns the requests since the last call, or those of them that write.
func (w *world) sent(writes bool) []any {
	all := []any{}
	for _, r := range w.server.Take() {
		key := w.Key(r)
		if writes && !w.Write(key) {
			continue
		}
		var body any = r.Body
		if v, err := pyjson.Load(r.Body); err == nil {
			body = v
		}
		var authorization any
		if text := r.Header.Get("Authorization"); text != "" {
			authorization = text
		}
		all = append(all, []any{key, body, authorization})
	}
	return all
}

// plain returns a value as recorded values are: its keys are texts.
func plain(t *testing.T, v any) any {
	t.Helper()
	raw, err := pyjson.Append(nil, v, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		t.Fatal(err)
	}
	if v, err = pyjson.Load(string(raw)); err != nil {
		t.Fatal(err)
	}
	return v
}

func (w *world) call(t *testing.T, c *data.Map, env *loader.Env) {
	t.Helper()
	r, err := loader.NewRegistry(env, w.Modules)
	if err != nil {
		t.Fatal(err)
	}
	args, _ := c.Value("args").([]any)
	kwargs, _ := c.Value("kwargs").(*data.Map)
	for range 2 {
		w.begin(c)
		got, err := r.Invoke(t.Context(), c.Text("fun"), data.Clone(args).([]any), kwargs)
		if w.Value != nil {
			got = w.Value(got)
		}
		if want := c.Text("error"); want != "" || err != nil {
			if text := calls.Text(err); text != want {
				t.Errorf("%s %s %s gives %s, error %q, want %q %s", c.Text("fun"), data.Repr(args),
					data.Repr(kwargs), data.Repr(got), text, want, data.Repr(c.Value("value")))
			}
		} else if want := c.Value("value"); !data.Equal(plain(t, got), want) {
			t.Errorf("%s %s %s\n got %s\nwant %s", c.Text("fun"), data.Repr(args), data.Repr(kwargs),
				data.Repr(got), data.Repr(want))
		}
		if sent := w.sent(false); !data.Equal(sent, c.Value("sent")) {
			t.Errorf("%s %s %s\nsent %s\nwant %s", c.Text("fun"), data.Repr(args), data.Repr(kwargs),
				data.Repr(sent), data.Repr(c.Value("sent")))
		}
	}
}

func (w *world) state(t *testing.T, c *data.Map, s *runs.Shelf) {
	t.Helper()
	kwargs, _ := c.Value("kwargs").(*data.Map)
	w.begin(c)
	title := c.Text("fun") + " " + data.Repr(c.Value("name")) + " " + data.Repr(kwargs)
	steps, _ := c.Value("steps").([]any)
	var got *data.Map
	for i, v := range steps {
		step := v.(*data.Map)
		got = s.Run(t, step.Value("test") == true, c.Text("fun"), c.Value("name"), kwargs)
		if want := step.Value("return"); !data.Equal(plain(t, got), want) {
			t.Errorf("%s step %d\n got %s\nwant %s", title, i, data.Repr(got), data.Repr(want))
		}
		if sent := w.sent(true); !data.Equal(sent, step.Value("sent")) {
			t.Errorf("%s step %d\nsent %s\nwant %s", title, i, data.Repr(sent), data.Repr(step.Value("sent")))
		}
	}
	if got.Value("result") != true {
		return
	}
	for _, test := range []bool{false, true} {
		got := s.Run(t, test, c.Text("fun"), c.Value("name"), kwargs)
		if sent := w.sent(true); got.Value("result") != true || data.Truth(got.Value("changes")) || len(sent) > 0 {
			t.Errorf("%s, again, test mode %v: %s, sent %s", title, test, data.Repr(got), data.Repr(sent))
		}
	}
}
