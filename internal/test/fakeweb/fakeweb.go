// Package fakeweb is a web server for tests that gives recorded answers and keeps the requests.
package fakeweb

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// A Request is a request that the server got.
type Request struct {
	Method, Path, Query string // Path is as sent
	Body                string
	Header              http.Header
}

// Line returns the method and the address.
func (r Request) Line() string {
	if r.Query == "" {
		return r.Method + " " + r.Path
	}
	return r.Method + " " + r.Path + "?" + r.Query
}

// An Answer is a response. The word URL in its body becomes the address of the server.
type Answer struct {
	Status     int // 0 means 200
	Kind, Body string
}

// A Server is a server on loopback.
type Server struct {
	URL string

	mu   sync.Mutex
	seen []Request
}

// New starts a server, which ends with the test. A nil answer is the status 404 with the body of a
// NetBox.
func New(t testing.TB, answer func(Request) *Answer) *Server {
	t.Helper()
	s := &Server{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		q := Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
			Body: string(body), Header: r.Header}
		s.mu.Lock()
		s.seen = append(s.seen, q)
		s.mu.Unlock()
		a := answer(q)
		if a == nil {
			a = &Answer{404, "application/json", `{"detail": "Not found."}`}
		}
		w.Header().Set("Content-Type", a.Kind)
		if a.Status != 0 {
			w.WriteHeader(a.Status)
		}
		fmt.Fprint(w, strings.ReplaceAll(a.Body, "URL", s.URL))
	}))
	s.URL = h.URL
	t.Cleanup(h.Close)
	return s
}

// Recorded starts a server with recorded answers: METHOD ADDRESS → [status, kind, body], where the
// parameters of an address may be in any order.
func Recorded(t testing.TB, answers *data.Map) *Server {
	t.Helper()
	all := map[string]*Answer{}
	for k, v := range answers.All() {
		list, ok := v.([]any)
		if !ok || len(list) != 3 {
			t.Fatalf("the answer to %v is %v", k, v)
		}
		method, address, ok := strings.Cut(data.Str(k), " ")
		if !ok {
			method, address = "GET", method
		}
		all[method+" "+Sorted(address)] = &Answer{int(list[0].(int64)), data.Str(list[1]), data.Str(list[2])}
	}
	return New(t, func(r Request) *Answer { return all[Sorted(r.Line())] })
}

// Sorted returns an address with its parameters in the order of their names.
func Sorted(address string) string {
	path, query, ok := strings.Cut(address, "?")
	if !ok {
		return path
	}
	values, _ := url.ParseQuery(query)
	return path + "?" + values.Encode()
}

// Take returns the requests since the last call.
func (s *Server) Take() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// Load returns the JSON in a file of testdata.
func Load(t testing.TB, name string) *data.Map {
	t.Helper()
	m, ok := LoadAny(t, name).(*data.Map)
	if !ok {
		t.Fatalf("%s is not a dictionary", name)
	}
	return m
}

// LoadAny returns the JSON in a file of testdata.
func LoadAny(t testing.TB, name string) any {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(b))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Cases returns the list cases of a file of testdata.
func Cases(t testing.TB, file *data.Map) []*data.Map {
	t.Helper()
	var all []*data.Map
	list, _ := file.Value("cases").([]any)
	for _, v := range list {
		all = append(all, v.(*data.Map))
	}
	if len(all) == 0 {
		t.Fatal("there are no cases")
	}
	return all
}

// JSONForm returns the text of a value after it was written as JSON and read again, as recorded
// values were: keys are texts then.
func JSONForm(t testing.TB, v any) string {
	t.Helper()
	b, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		t.Fatal(err)
	}
	if v, err = pyjson.Load(string(b)); err != nil {
		t.Fatal(err)
	}
	return data.Repr(v)
}
