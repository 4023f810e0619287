package media

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

// post returns a request with that body.
func post(kind, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// wantError fails the test unless err is an *Error with that status and text.
func wantError(t *testing.T, err error, status int, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want status %d", err, status)
	}
	if e.Status != status || e.Text != text {
		t.Errorf("error is %d %q, want %d %q", e.Status, e.Text, status, text)
	}
}

func TestRead(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, tt := range []struct {
		name, kind, body string
		want             any
	}{
		{"an object", "application/json", `{"b": 1, "a": [null, 1.5]}`,
			data.NewMap("b", int64(1), "a", []any{nil, 1.5})},
		{"a charset is ignored", "application/json; charset=latin-1", `"é"`, "é"},
		{"a type in capitals", "Application/JSON", `[]`, []any{}},
		{"a big number", "application/json", "123456789012345678901234567890", huge},
		{"the last of repeated keys", "application/json", `{"a": 1, "a": 2}`, data.NewMap("a", int64(2))},
		{"brackets in a string", "application/json", `"` + strings.Repeat(`[,\"`, 900) + `"`,
			strings.Repeat(`[,"`, 900)},
		{"YAML", "application/x-yaml", "client: local\narg: [1, yes]\n",
			data.NewMap("client", "local", "arg", []any{int64(1), true})},
		{"text/yaml", "text/yaml;charset=utf-8", "- a\n- b\n", []any{"a", "b"}},
		{"YAML that is text", "text/yaml", "hello", "hello"},
		{"JSON as text, as browsers send it", "text/plain;charset=UTF-8", `[{"a": 1}]`,
			[]any{data.NewMap("a", int64(1))}},
		{"text", "text/plain", "hello", "hello"},
		{"text with too deep brackets", "text/plain", strings.Repeat("[", 1000), strings.Repeat("[", 1000)},
		{"a form", "application/x-www-form-urlencoded; charset=UTF-8", "a=1&arg=2",
			data.NewMap("a", "1", "arg", []any{int64(2)})},
		{"no body, no type", "", "", nil},
		{"no body of an unknown type", "application/xml", "", nil},
		{"no body of type JSON", "application/json", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := Read(post(tt.kind, tt.body), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if !data.Equal(body.Value, tt.want) {
				t.Errorf("Read(%q) = %s, want %s", tt.body, data.Repr(body.Value), data.Repr(tt.want))
			}
			if body.Text() != tt.body {
				t.Errorf("text is %q, want %q", body.Text(), tt.body)
			}
		})
	}
}

func TestReadRejects(t *testing.T) {
	const badJSON, badYAML = "Invalid JSON document", "Invalid YAML document"
	for _, tt := range []struct {
		name, kind, body string
		status           int
		text             string
	}{
		{"XML", "application/xml", "<a/>", 406, "Content type not supported"},
		{"no type", "", "a=1", 406, "Content type not supported"},
		{"a multipart form", "multipart/form-data; boundary=x", "--x--", 406, "Content type not supported"},
		{"half an object", "application/json", "{", 400, badJSON},
		{"spaces", "application/json", "  ", 400, badJSON},
		{"two documents", "application/json", "1 2", 400, badJSON},
		{"a byte order mark", "application/json", "\ufeff{}", 400, badJSON},
		{"JSON that is not UTF-8", "application/json", "\"\xff\"", 400, badJSON},
		{"JSON 101 levels deep", "application/json", strings.Repeat("[", 101) + strings.Repeat("]", 101),
			400, badJSON},
		{"JSON 500,000 levels deep", "application/json", strings.Repeat("[", 500000), 400, badJSON},
		{"a number of 4301 digits", "application/json", strings.Repeat("1", 4301), 400, badJSON},
		{"300,000 JSON values", "application/json", "[" + strings.Repeat("{},", 300000) + "{}]", 400, badJSON},
		{"300,000 JSON keys", "application/json", "{" + strings.Repeat(`"":0,`, 180000) + `"":0}`, 400, badJSON},
		{"open braces", "application/x-yaml", "{a: ", 400, badYAML},
		{"a repeated key", "text/yaml", "a: 1\na: 2\n", 400, badYAML},
		{"two YAML documents", "text/yaml", "--- 1\n--- 2\n", 400, badYAML},
		{"YAML that is not UTF-8", "text/yaml", "a: \xff", 400, badYAML},
		{"YAML 101 levels deep", "text/yaml", strings.Repeat("[", 101) + strings.Repeat("]", 101), 400, badYAML},
		{"a YAML bomb", "application/x-yaml", yamlBomb("a: &a [x,x,x,x,x,x,x,x,x,x]\n"), 400, badYAML},
		{"a YAML bomb of merges", "text/yaml", mergeBomb(), 400, badYAML},
		{"an anchor in itself", "text/yaml", "&a [*a]", 400, badYAML},
		{"300,000 YAML values", "text/yaml", "[" + strings.Repeat("{},", 300000) + "{}]", 400, badYAML},
		{"a Python object", "text/yaml", "!!python/object/apply:os.system [id]", 400, badYAML},
		{"text that is not UTF-8", "text/plain", "\xff", 400, "Invalid text"},
		{"a form that is not UTF-8", "application/x-www-form-urlencoded", "a=\xff", 400, "Invalid form"},
		{"100,000 fields", "application/x-www-form-urlencoded", strings.Repeat("a=1&", 100000), 400,
			"Invalid form"},
		{"70,000 names", "application/x-www-form-urlencoded", manyNames(70000), 400, "Invalid form"},
		{"a bomb as an argument", "application/x-www-form-urlencoded",
			strings.Repeat("arg="+flowBomb(5)+"&", 20), 400, "Invalid form"},
		{"300,000 values as an argument", "application/x-www-form-urlencoded",
			"arg=[" + strings.Repeat("[],", 300000) + "[]]", 400, "Invalid form"},
		{"an argument 101 levels deep", "application/x-www-form-urlencoded",
			"kwarg=" + strings.Repeat("[", 102) + strings.Repeat("]", 102), 400, "Invalid form"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := Read(post(tt.kind, tt.body), 1<<20)
			if body != nil {
				t.Errorf("a body with value %.100s", data.Repr(body.Value))
			}
			wantError(t, err, tt.status, tt.text)
		})
	}
}

// yamlBomb returns a document whose value doubles tenfold with each of nine lines after first.
func yamlBomb(first string) string {
	var b strings.Builder
	b.WriteString(first)
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	return b.String()
}

func mergeBomb() string {
	var b strings.Builder
	b.WriteString("a: &a {k0: 0}\n")
	for c := 'b'; c <= 'z'; c++ {
		fmt.Fprintf(&b, "%c: &%c {k%c: [*%c, *%c], <<: [*%c, *%c]}\n", c, c, c, c-1, c-1, c-1, c-1)
	}
	return b.String()
}

// flowBomb returns a list on one line that stands for about 10 to the power of levels values.
func flowBomb(levels int) string {
	var b strings.Builder
	b.WriteString("[%26a0 [0]")
	for i := range levels {
		fmt.Fprintf(&b, ",%%26a%d [%s*a%d]", i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	b.WriteString("]")
	return b.String()
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d=%d&", i, i)
	}
	return b.String()
}

// The bodies that cost most for their size, just below the limits, take a bounded multiple of it.
func TestReadTakesMemoryInProportion(t *testing.T) {
	const limit = 1 << 20
	n, y := limit/bytesPerValue-2, limit/bytesPerNode-2
	for _, tt := range []struct{ name, kind, body string }{
		{"JSON maps", "application/json", "[" + strings.Repeat(`{},`, n/2-1) + "{}]"},
		{"JSON keys", "application/json", "[" + strings.Repeat(`{"":[]},`, n/3) + "{}]"},
		{"YAML lists", "text/yaml", "[" + strings.Repeat(`[],`, y/4-1) + "[]]"},
		{"YAML keys", "text/yaml", "[" + strings.Repeat(`{k: v},`, y/6) + "{}]"},
		{"a form", "application/x-www-form-urlencoded", manyNames(maxFields)},
		{"arguments", "application/x-www-form-urlencoded", strings.Repeat("arg=[{a: 1}]&", maxFields)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			body, err := Read(post(tt.kind, tt.body), limit)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes of body: %d bytes allocated", len(body.Raw), allocated)
			if allocated > 50*limit {
				t.Errorf("%d bytes of body cost %d bytes", len(body.Raw), allocated)
			}
		})
	}
}

// echoServer answers with the size of the body, or with the error.
func echoServer(t *testing.T, limit int64) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := Read(r, limit)
		if err != nil {
			new(Answers).Refuse(w, r, err)
			return
		}
		_ = new(Answers).Write(w, r, JSON, http.StatusOK, int64(len(body.Raw)))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestLimit(t *testing.T) {
	s := echoServer(t, 1000)
	text := func(n int) io.Reader { return strings.NewReader(`"` + strings.Repeat("x", n-2) + `"`) }
	type onlyReader struct{ io.Reader } // hides the length, so that the client sends chunks
	for _, tt := range []struct {
		name   string
		body   io.Reader
		status int
		want   string
	}{
		{"as long as the limit", text(1000), 200, "1000"},
		{"as long as the limit, in chunks", onlyReader{text(1000)}, 200, "1000"},
		{"a byte longer", text(1001), 413,
			`{"status": 413, "return": "The request body is larger than 1000 bytes"}`},
		{"a byte longer, in chunks", onlyReader{text(1001)}, 413,
			`{"status": 413, "return": "The request body is larger than 1000 bytes"}`},
		{"a megabyte in chunks", onlyReader{text(1 << 20)}, 413,
			`{"status": 413, "return": "The request body is larger than 1000 bytes"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := http.Post(s.URL, "application/json", tt.body)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || string(got) != tt.want {
				t.Errorf("answer is %d %s, want %d %s", resp.StatusCode, got, tt.status, tt.want)
			}
		})
	}
}

func TestLimitOfTheCaller(t *testing.T) {
	r := post("application/json", strings.Repeat(" ", 100))
	r.ContentLength = -1
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 10)
	_, err := Read(r, 1000)
	wantError(t, err, 413, "The request body is larger than 10 bytes")
}

func TestDefaultLimit(t *testing.T) {
	_, err := Read(post("text/plain", strings.Repeat("x", DefaultLimit+1)), 0)
	wantError(t, err, 413, "The request body is larger than 1048576 bytes")
	if _, err := Read(post("text/plain", strings.Repeat("x", DefaultLimit)), 0); err != nil {
		t.Errorf("body of the default size: %v", err)
	}
}

// A body that stops ends with the deadline that the caller has set for the connection.
func TestSlowBody(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deadline := http.NewResponseController(w)
		if err := deadline.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Errorf("set deadline: %v", err)
		}
		_, err := Read(r, 1000)
		new(Answers).Refuse(w, r, err)
	}))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 408 || !strings.Contains(string(got), "did not arrive in time") {
		t.Errorf("answer is %d %s", resp.StatusCode, got)
	}
}

func TestIncompleteBody(t *testing.T) {
	r := post("application/json", "")
	r.ContentLength, r.Body = -1, io.NopCloser(io.MultiReader(strings.NewReader("{"), broken{}))
	_, err := Read(r, 1000)
	wantError(t, err, 400, "The request body is incomplete")
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v hides its cause", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestPost(t *testing.T) {
	for _, tt := range []struct {
		kind, body string
		want       any
	}{
		{"text/plain", "hello", "hello"},
		{"application/json", `{"a": 1}`, data.NewMap("a", int64(1))},
		{"application/json", `[0]`, []any{int64(0)}},
		{"application/json", `0`, data.NewMap()},
		{"application/json", `""`, data.NewMap()},
		{"application/json", `[]`, data.NewMap()},
		{"application/json", `false`, data.NewMap()},
		{"application/json", `null`, data.NewMap()},
		{"application/json", ``, data.NewMap()},
		{"application/x-www-form-urlencoded", "a=1&b=2&b=3", data.NewMap("a", "1", "b", []any{"2", "3"})},
	} {
		body, err := Read(post(tt.kind, tt.body), 0)
		if err != nil {
			t.Fatalf("read %q: %v", tt.body, err)
		}
		if !data.Equal(body.Post(), tt.want) {
			t.Errorf("Post of %q is %s, want %s", tt.body, data.Repr(body.Post()), data.Repr(tt.want))
		}
	}
}

func FuzzJSONBody(f *testing.F) {
	for _, seed := range []string{"{", `[{"client": "local", "arg": 1}]`, `"\ud800"`, "1e999", "[[[", "NaN"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) { readAnything(t, "application/json", body) })
}

func FuzzYAMLBody(f *testing.F) {
	for _, seed := range []string{"a: [1, yes]", yamlBomb("a: &a [x]\n"), "&a [*a]", "? {a: b}\n: c",
		"- !!set {a}", "{1: a}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) { readAnything(t, "text/yaml", body) })
}

// readAnything fails the test if a body is neither read nor refused as the client's error, or if its
// value cannot be answered.
func readAnything(t *testing.T, kind, text string) {
	body, err := Read(post(kind, text), 1<<16)
	var e *Error
	if err != nil {
		if !errors.As(err, &e) || e.Status/100 != 4 {
			t.Fatalf("Read(%q): %v", text, err)
		}
		return
	}
	if _, err := body.Low(); err != nil && (!errors.As(err, &e) || e.Status != 400) {
		t.Fatalf("Low of %q: %v", text, err)
	}
	for _, f := range []Format{JSON, YAML} {
		if _, err := encode(nil, f, body.Post()); err != nil && kind == "application/json" {
			t.Fatalf("write %q as %s: %v", text, f, err)
		}
	}
}

func BenchmarkReadLow(b *testing.B) {
	for _, tt := range []struct{ name, kind, body string }{
		{"JSON", "application/json", `{"client": "local", "tgt": "*", "fun": "cmd.run", "arg": ["uptime"]}`},
		{"YAML", "application/x-yaml", "client: local\ntgt: '*'\nfun: cmd.run\narg: [uptime]\n"},
		{"form", "application/x-www-form-urlencoded", "client=local&tgt=%2A&fun=cmd.run&arg=uptime"},
		{"text", "text/plain", `{"client": "local", "tgt": "*", "fun": "cmd.run", "arg": ["uptime"]}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			r := post(tt.kind, "")
			for b.Loop() {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(tt.body)), int64(len(tt.body))
				body, err := Read(r, 0)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := body.Low(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
