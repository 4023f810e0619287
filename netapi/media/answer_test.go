package media

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

func get(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func raw(t testing.TB, v any) data.Raw {
	t.Helper()
	b, err := payload.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWrite(t *testing.T) {
	huge, _ := new(big.Int).SetString("1000000000000000000000000000000", 10)
	self := data.NewMap("set", data.Set{"a", data.NewMap("b", raw(t, []any{int64(1), "x"}))},
		"object", data.Object{Repr: "<x>"}, "sent", data.Object{Sent: "y"}, "raw", raw(t, true))
	for _, tt := range []struct {
		name       string
		v          any
		json, yaml string
	}{
		{"order", data.NewMap("b", []any{int64(1), 1.5, nil, true}, "a", data.NewMap()),
			`{"b": [1, 1.5, null, true], "a": {}}`, "a: {}\nb:\n- 1\n- 1.5\n- null\n- true\n"},
		{"text", "\u2028\x7f/\x00<é😀\n", "\"\u2028\x7f/\\u0000<é😀\\n\"", ""},
		{"text that YAML quotes", "yes", `"yes"`, "'yes'\n"},
		{"keys", data.NewMap(int64(1), int64(2), nil, int64(3), true, int64(4)), `{"1": 4, "null": 3}`, ""},
		{"big number", huge, huge.String(), huge.String() + "\n"},
		{"no number", math.NaN(), "NaN", ".nan\n"},
		{"empty list", []any{}, "[]", "[]\n"},
		{"tuple", data.Tuple{"a"}, `["a"]`, "- a\n"},
		{"text that is not UTF-8", "a\xff", "\"a\ufffd\"", "a\ufffd\n"},
		{"values of one host", self, `{"set": ["a", {"b": [1, "x"]}], "object": {}, "sent": "y", "raw": true}`,
			"object: {}\nraw: true\nsent: y\nset:\n- a\n- b:\n  - 1\n  - x\n"},
		{"one message", raw(t, "x"), `"x"`, "x\n"},
		{"a message with a key twice",
			data.NewMap("m1", data.Raw{0x82, 0xa1, 'a', 0x01, 0xa1, 'a', 0x02}, "m2", raw(t, "x")),
			`{"m1": {"a": 2}, "m2": "x"}`, "m1:\n  a: 2\nm2: x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for f, want := range map[Format]string{JSON: tt.json, YAML: tt.yaml} {
				if want == "" {
					continue
				}
				w := httptest.NewRecorder()
				if err := new(Answers).Write(w, get(), f, 202, tt.v); err != nil {
					t.Fatal(err)
				}
				if w.Code != 202 || w.Body.String() != want || w.Header().Get("Content-Type") != f.String() {
					t.Errorf("%s answer is %d %q of type %s, want %q", f, w.Code, w.Body, w.Header().Get("Content-Type"),
						want)
				}
			}
		})
	}
}

// A list that occurs twice is written twice: after travelling in a message it would be two lists.
func TestWriteRepeats(t *testing.T) {
	list := []any{"a"}
	w := httptest.NewRecorder()
	if err := new(Answers).Write(w, get(), YAML, 200, []any{list, list}); err != nil {
		t.Fatal(err)
	}
	if want := "- - a\n- - a\n"; w.Body.String() != want {
		t.Errorf("answer is %q, want %q", w.Body, want)
	}
}

func TestWriteRejects(t *testing.T) {
	circle := data.NewMap()
	circle.Set("a", []any{circle, circle})
	for _, tt := range []struct {
		name string
		f    Format
		v    any
	}{
		{"bytes", JSON, data.NewMap("a", []byte{0xff})},
		{"bytes as a key", JSON, data.NewMap([]byte{0xff}, 1)},
		{"a time", JSON, time.Unix(0, 0)},
		{"a constant", JSON, data.Const{}},
		{"bytes in a message", JSON, data.Raw{0xc4, 0x01, 'a'}},
		{"no message", JSON, data.Raw{0xc1}},
		{"half a message", YAML, data.Raw{0x92, 0x01}},
		{"a circle", JSON, circle},
		{"a circle", YAML, circle},
		{"a circle with a set", JSON, data.Set{circle}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			err := new(Answers).Write(w, get(), tt.f, 200, tt.v)
			wantError(t, err, 500, "Could not serialize the return data from Salt.")
			if w.Body.Len() > 0 || len(w.Header()) > 0 {
				t.Errorf("sent %v %q", w.Header(), w.Body)
			}
		})
	}
}

func TestYAMLHasBytes(t *testing.T) {
	w := httptest.NewRecorder()
	if err := new(Answers).Write(w, get(), YAML, 200, data.NewMap("b", []byte{0xff})); err != nil {
		t.Fatal(err)
	}
	if want := "b: !!binary |\n  /w==\n"; w.Body.String() != want {
		t.Errorf("answer is %q, want %q", w.Body, want)
	}
}

func TestHeaders(t *testing.T) {
	long := strings.Repeat("a", 2000)
	for _, tt := range []struct {
		name   string
		accept string // of encodings
		v      string
		old    bool // HTTP/1.0
		zipped bool
	}{
		{"short", "gzip", "a", false, false},
		{"long", "gzip", long, false, true},
		{"among others", "br, deflate, gzip;q=0.5", long, false, true},
		{"old name", "X-GZIP", long, false, true},
		{"anything", "*", long, false, true},
		{"refused", "gzip;q=0, *", long, false, false},
		{"plain preferred", "gzip;q=0.5, identity", long, false, false},
		{"other", "br", long, false, false},
		{"malformed", "gzip;q=x", long, false, false},
		{"none", "", long, false, false},
		{"HTTP/1.0", "gzip", long, true, false},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			t.Run(tt.name+" "+method, func(t *testing.T) {
				r := get("Accept-Encoding", tt.accept)
				r.Method = method
				if tt.old {
					r.ProtoMinor = 0
				}
				w := httptest.NewRecorder()
				if err := new(Answers).Write(w, r, JSON, 200, tt.v); err != nil {
					t.Fatal(err)
				}
				checkBody(t, w, method, tt.zipped, `"`+tt.v+`"`)
			})
		}
	}
}

func checkBody(t *testing.T, w *httptest.ResponseRecorder, method string, zipped bool, want string) {
	t.Helper()
	h := w.Header()
	if h.Get("Vary") != "Accept-Encoding" || (h.Get("Content-Encoding") == "gzip") != zipped {
		t.Errorf("headers %v, want zipped %v", h, zipped)
	}
	if method == http.MethodHead {
		if w.Body.Len() > 0 || h.Get("Content-Length") == "0" {
			t.Errorf("HEAD has %d bytes, Content-Length %s", w.Body.Len(), h.Get("Content-Length"))
		}
		return
	}
	if h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Errorf("Content-Length is %s, not %d", h.Get("Content-Length"), w.Body.Len())
	}
	body := io.Reader(w.Body)
	if zipped {
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	}
	if got, err := io.ReadAll(body); err != nil || string(got) != want {
		t.Errorf("body is %q, %v, want %q", got, err, want)
	}
}

func TestVaryIsKept(t *testing.T) {
	for before, want := range map[string]string{"Origin": "Origin|Accept-Encoding",
		"Origin, accept-encoding": "Origin, accept-encoding"} {
		w := httptest.NewRecorder()
		w.Header().Set("Vary", before)
		if err := new(Answers).Write(w, get(), JSON, 200, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.Header().Values("Vary"), "|"); got != want {
			t.Errorf("Vary %q became %q, want %q", before, got, want)
		}
	}
}

type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestClientIsGone(t *testing.T) {
	err := new(Answers).Write(gone{httptest.NewRecorder()}, get(), JSON, 200, "x")
	var e *Error
	if !errors.Is(err, io.ErrClosedPipe) || errors.As(err, &e) {
		t.Errorf("error is %v", err)
	}
}

// A holder breaks off, and keeps what it was to send.
type holder struct {
	http.ResponseWriter
	held []byte
}

func (h *holder) Write(b []byte) (int, error) {
	h.held = b
	return 0, io.ErrClosedPipe
}

// TestAnswersStayApart checks that buffers and compressors which one answer has used leave nothing in
// another, and that those of a broken connection are not used again while it may still send them.
func TestAnswersStayApart(t *testing.T) {
	var answers Answers
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := range 50 {
				want := strings.Repeat(strconv.Itoa(i), 500*(n%5)+n)
				w := httptest.NewRecorder()
				if err := answers.Write(w, get("Accept-Encoding", "gzip"), JSON, 200, want); err != nil {
					t.Error(err)
				}
				if got := plain(t, w); got != `"`+want+`"` {
					t.Errorf("an answer of %d bytes is %d bytes: %.20q", len(want)+2, len(got), got)
				}
			}
		})
	}
	wait.Wait()

	for _, coding := range []string{"identity", "gzip"} {
		broken, r := &holder{ResponseWriter: httptest.NewRecorder()}, get("Accept-Encoding", coding)
		if err := answers.Write(broken, r, JSON, 200, strings.Repeat("a", 5000)); err == nil {
			t.Fatal("a connection that breaks off is no error")
		}
		before := string(broken.held)
		for range 20 {
			if err := answers.Write(httptest.NewRecorder(), r, JSON, 200, strings.Repeat("b", 5000)); err != nil {
				t.Fatal(err)
			}
		}
		if string(broken.held) != before {
			t.Errorf("%s: another answer has overwritten the one of a broken connection", coding)
		}
	}
}

// plain returns the body of an answer.
func plain(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var body io.Reader = w.Body
	if w.Header().Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(w.Body); err != nil {
			t.Error(err)
			return ""
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// A real client sees what was written, also by HEAD and with compression.
func TestOverHTTP(t *testing.T) {
	want := strings.Repeat("text ", 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := new(Answers).Write(w, r, JSON, 200, want); err != nil {
			t.Errorf("write: %v", err)
		}
	}))
	defer s.Close()
	resp, err := http.Get(s.URL) // the client asks for gzip and unpacks it
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != `"`+want+`"` || !resp.Uncompressed {
		t.Errorf("body of %d bytes, %v, compressed %v", len(got), err, resp.Uncompressed)
	}
	head, err := http.Head(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer head.Body.Close()
	if head.ContentLength != int64(len(want))+2 {
		t.Errorf("HEAD says %d bytes", head.ContentLength)
	}
}

// answer returns an answer of state.apply on n minions.
func answer(n int) *data.Map {
	minions := data.NewMap()
	for i := range n {
		states := data.NewMap()
		for j := range 10 {
			states.Set(fmt.Sprintf("file_|-/etc/app/%d.conf_|-/etc/app/%d.conf_|-managed", j, j), data.NewMap(
				"name", fmt.Sprintf("/etc/app/%d.conf", j), "changes", data.NewMap(), "result", true,
				"comment", fmt.Sprintf("File /etc/app/%d.conf is in the correct state", j), "__sls__", "app",
				"__run_num__", int64(j), "start_time", "17:33:38.745589", "duration", 0.853))
		}
		minions.Set(fmt.Sprintf("minion%d.example.org", i), states)
	}
	return data.NewMap("return", []any{minions})
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{10, 1000} {
		v := answer(n)
		packed := data.NewMap("return", raw(b, v.Value("return")))
		for _, tt := range []struct {
			name     string
			f        Format
			v        any
			encoding string
		}{{"JSON", JSON, v, ""}, {"gzip", JSON, v, "gzip"}, {"raw", JSON, packed, ""}, {"YAML", YAML, v, ""}} {
			b.Run(fmt.Sprintf("%s/%d", tt.name, n), func(b *testing.B) {
				b.ReportAllocs()
				r := get("Accept-Encoding", tt.encoding)
				var answers Answers
				for b.Loop() {
					if err := answers.Write(discard{http.Header{}}, r, tt.f, 200, tt.v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCompressor measures what it saves to keep compressors: the ratio is that of the time for an answer
// to the time with a compressor and buffers of its own.
func BenchmarkCompressor(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			v, r := answer(n), get("Accept-Encoding", "gzip")
			var answers Answers
			var kept, own time.Duration
			for b.Loop() {
				begin := time.Now()
				err := answers.Write(discard{http.Header{}}, r, JSON, 200, v)
				kept += time.Since(begin)
				begin = time.Now()
				err = errors.Join(err, new(Answers).Write(discard{http.Header{}}, r, JSON, 200, v))
				own += time.Since(begin)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(kept)/float64(own), "ratio")
		})
	}
}
