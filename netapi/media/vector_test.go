package media

import (
	"encoding/base64"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// An exchange is one request to Salt's API and its answer.
type exchange struct {
	name, conf, path string
	request          *http.Request
	status           int
	header           http.Header
	body             string // of the answer
	json             any    // the same, if it is JSON
	cut              bool   // the vectors have only a part of body
}

// exchanges reads the exchanges that salt-api 3006.0 recorded, of the files that need no master.
func exchanges(t *testing.T) []exchange {
	t.Helper()
	var all []exchange
	for _, name := range []string{"01-root-negotiation", "03-lowstate", "08-hook", "12-options"} {
		list, _ := vectors.Load(t, "netapi/"+name+".json").Top.Value("exchanges").([]any)
		for _, c := range vectors.Cases(t, list) {
			all = append(all, exchangeOf(t, c.Map))
		}
	}
	if len(all) < 100 {
		t.Fatalf("%d exchanges", len(all))
	}
	return all
}

func exchangeOf(t *testing.T, m *data.Map) exchange {
	t.Helper()
	request, answer := m.Value("request").(*data.Map), m.Value("response").(*data.Map)
	body := request.Text("body")
	if coded, ok := request.Value("body").(*data.Map); ok {
		b, err := base64.StdEncoding.DecodeString(coded.Text("base64"))
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	}
	x := exchange{name: m.Text("name"), conf: m.Text("conf"), path: request.Text("path"),
		request: httptest.NewRequest(request.Text("method"), "/", strings.NewReader(body)),
		status:  int(answer.Value("status").(int64)), header: headerOf(answer), body: answer.Text("body"),
		json: answer.Value("json")}
	x.request.Header = headerOf(request)
	x.cut = x.header.Get("Content-Length") != strconv.Itoa(len(x.body))
	return x
}

func headerOf(m *data.Map) http.Header {
	h := http.Header{}
	list, _ := m.Value("headers").([]any)
	for _, pair := range list {
		h.Add(pair.([]any)[0].(string), pair.([]any)[1].(string))
	}
	return h
}

var paragraph = regexp.MustCompile(`<p>(.*?)</p>`)

// message returns the text of an error page, else "".
func (x exchange) message() string {
	if found := paragraph.FindStringSubmatch(x.body); x.status >= 400 && found != nil {
		return html.UnescapeString(found[1])
	}
	return ""
}

// beforeBody reports whether Salt answered without looking at the body.
func (x exchange) beforeBody() bool {
	return x.request.Method != http.MethodPost || slices.Contains([]int{401, 403, 404, 405}, x.status)
}

func (x exchange) isHook() bool {
	return strings.HasPrefix(x.path, "/hook") || strings.HasPrefix(x.path, "/myhook")
}

// fault returns the status and text of reading the request, or 0.
func (x exchange) fault() (int, string) {
	body, err := Read(x.request, 0)
	if err == nil && !x.isHook() {
		_, err = body.Low()
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status, e.Text
	}
	return 0, ""
}

// A body is rejected if, and only if, Salt rejected it, with the same status and text.
func TestVectorBodies(t *testing.T) {
	ours := []string{"Invalid JSON document", "Lowstates must be a list", "Content type not supported"}
	read, rejected := 0, 0
	for _, x := range exchanges(t) {
		if x.beforeBody() {
			continue
		}
		read++
		status, text := 0, ""
		if slices.Contains(ours, x.message()) {
			rejected++
			status, text = x.status, x.message()
		}
		if gotStatus, gotText := x.fault(); gotStatus != status || gotText != text {
			t.Errorf("%s: %d %q, want %d %q", x.name, gotStatus, gotText, status, text)
		}
	}
	if read < 70 || rejected < 7 {
		t.Errorf("%d bodies, %d rejected", read, rejected)
	}
}

// The minion's answers to test.arg and test.echo show the arguments that Salt read.
func TestVectorArguments(t *testing.T) {
	seen := 0
	for _, x := range exchanges(t) {
		want, ok := x.arguments()
		if !ok || x.name == "kwarg-not-dict" { // Salt's client drops such a kwarg
			continue
		}
		seen++
		body, err := Read(x.request, 0)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		low, err := body.Low()
		if err != nil || len(low) != 1 {
			t.Errorf("%s: %d chunks, %v", x.name, len(low), err)
			continue
		}
		got, _ := low[0].Value("arg").([]any)
		if kwarg, ok := low[0].Value("kwarg").(*data.Map); ok {
			got = append(got, kwarg)
		}
		if !data.Equal(got, want) {
			t.Errorf("%s: arguments %s, want %s", x.name, data.Repr(got), data.Repr(want))
		}
	}
	if seen < 6 {
		t.Errorf("%d calls with arguments", seen)
	}
}

// arguments returns the arguments that arrived at minion m1.
func (x exchange) arguments() ([]any, bool) {
	v, ok := data.Lookup(x.json, "return:0:m1", ":")
	if !ok {
		return nil, false
	}
	if list, ok := data.Lookup(v, "kwargs:__pub_arg", ":"); ok {
		return data.ListOf(list), true
	}
	if x.name == "unicode" || x.name == "nonutf8-form" { // calls of test.echo
		return []any{v}, true
	}
	return nil, false
}

func TestVectorAccept(t *testing.T) {
	chosen, refused := 0, 0
	for _, x := range exchanges(t) {
		accept, _ := Accept(x.request)
		format, err := Choose(accept)
		switch kind := x.header.Get("Content-Type"); {
		case x.status == 406 && strings.HasPrefix(x.message(), "Your client"):
			refused++
			wantError(t, err, 406, x.message())
		case kind == JSON.String() || kind == YAML.String():
			chosen++
			if err != nil || format.String() != kind {
				t.Errorf("%s: Choose(%q) = %s, %v, want %s", x.name, accept, format, err, kind)
			}
		}
	}
	if chosen < 60 || refused < 4 {
		t.Errorf("%d answers, %d refused", chosen, refused)
	}
}

// With the option app set, Salt answers the index page; these requests ask for no other.
func TestVectorHTML(t *testing.T) {
	pages, others := 0, 0
	for _, x := range exchanges(t) {
		if x.conf != "main" && x.conf != "V2" || x.path == "/api/gui" || x.request.Method == "OPTIONS" ||
			x.request.Method == http.MethodHead {
			continue
		}
		want := x.status == 200 && strings.HasPrefix(x.header.Get("Content-Type"), "text/html")
		if want {
			pages++
		} else {
			others++
		}
		if got := WantsHTML(Accept(x.request)); got != want {
			t.Errorf("%s: WantsHTML is %v, want %v", x.name, got, want)
		}
	}
	if pages < 4 || others < 80 {
		t.Errorf("%d pages, %d other answers", pages, others)
	}
}

// Each answer of Salt is written again from its value, to the byte.
func TestVectorAnswers(t *testing.T) {
	written := 0
	for _, x := range exchanges(t) {
		if x.header.Get("Content-Type") != JSON.String() || x.cut {
			continue
		}
		written++
		w := httptest.NewRecorder()
		if err := new(Answers).Write(w, x.request, JSON, x.status, x.json); err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if w.Code != x.status || w.Body.String() != x.body {
			t.Errorf("%s: %d %s, want %d %s", x.name, w.Code, w.Body, x.status, x.body)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Vary"} {
			if got, want := w.Header().Get(name), x.header.Get(name); got != want {
				t.Errorf("%s: header %s is %q, want %q", x.name, name, got, want)
			}
		}
	}
	if written < 50 {
		t.Errorf("%d answers", written)
	}
}

func TestVectorYAML(t *testing.T) {
	byName := map[string]exchange{}
	for _, x := range exchanges(t) {
		byName[x.name] = x
	}
	body, err := Read(byName["nested-types-yaml"].request, 0)
	if err != nil {
		t.Fatal(err)
	}
	low, err := body.Low()
	if err != nil {
		t.Fatal(err)
	}
	echoed := data.NewMap("m1", low[0].Value("arg").([]any)[0])
	for name, v := range map[string]any{"root-get-yaml": byName["root-get"].json,
		"nested-types-yaml": data.NewMap("return", []any{echoed})} {
		x := byName[name]
		w := httptest.NewRecorder()
		if err := new(Answers).Write(w, x.request, YAML, 200, v); err != nil {
			t.Fatal(err)
		}
		if w.Body.String() != x.body || w.Header().Get("Content-Type") != x.header.Get("Content-Type") {
			t.Errorf("%s: %q, want %q", name, w.Body, x.body)
		}
	}
}

// The error pages keep Salt's title, heading and text.
func TestVectorErrorPages(t *testing.T) {
	seen := 0
	for _, x := range exchanges(t) {
		if x.message() == "" || x.request.Method == http.MethodHead {
			continue
		}
		seen++
		w := httptest.NewRecorder()
		new(Answers).Fail(w, get("Accept", "text/html"), x.status, x.message())
		for _, tag := range []string{"title", "h2", "p"} {
			find := regexp.MustCompile("<" + tag + ">.*?</" + tag + ">")
			got, want := find.FindString(w.Body.String()), find.FindString(x.body)
			if html.UnescapeString(got) != html.UnescapeString(want) {
				t.Errorf("%s: %s, want %s", x.name, got, want)
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d error pages", seen)
	}
}
