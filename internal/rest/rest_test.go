package rest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRequests(t *testing.T) {
	var seen string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		user, password, _ := r.BasicAuth()
		seen = fmt.Sprintf("%s %s %s %s:%s %q %q", r.Method, r.Host, r.RequestURI, user, password,
			r.Header.Get("X-A"), body.String())
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		case "/none":
			http.Error(w, "hunter2", http.StatusNotFound)
		default:
			fmt.Fprint(w, `{"a": 1}`)
		}
	}))
	defer s.Close()
	at := strings.TrimPrefix(s.URL, "http://")
	c := client(t, Options{})
	for _, tt := range []struct {
		r      Request
		seen   string
		status int
	}{
		{Request{URL: s.URL + "/a%2Fb?x=1", Header: map[string]string{"X-A": "b", "host": "h"}},
			`GET h /a%2Fb?x=1 : "b" ""`, 200},
		{Request{Method: "POST", URL: s.URL, User: "u", Password: "p:w", Body: []byte("text")},
			"POST " + at + ` / u:p:w "" "text"`, 200},
		{Request{URL: "http://me:pw@" + at + "/moved"}, "GET " + at + ` /here me:pw "" ""`, 200},
		{Request{Method: "POST", URL: s.URL + "/moved"}, "POST " + at + ` /moved : "" ""`, 302},
		{Request{URL: s.URL + "/away"}, "GET " + at + ` /away : "" ""`, 302},
		{Request{URL: s.URL + "/none"}, "GET " + at + ` /none : "" ""`, 404},
	} {
		a, err := c.Do(t.Context(), tt.r)
		if err != nil || a.Status != tt.status || seen != tt.seen || a.OK() != (tt.status == 200) {
			t.Errorf("%s: %+v, %v; the server saw %s, want %s", tt.r.URL, a, err, seen, tt.seen)
		}
		if a != nil && !a.OK() && strings.Contains(a.Err().Error(), "hunter2") {
			t.Errorf("%s: the error has the body: %v", tt.r.URL, a.Err())
		}
	}
	var copied bytes.Buffer
	a, err := c.Copy(t.Context(), Request{URL: s.URL}, &copied)
	if err != nil || !a.OK() || copied.String() != `{"a": 1}` {
		t.Errorf("copied %q, %v", copied.String(), err)
	}
	if a, err = c.Copy(t.Context(), Request{URL: s.URL + "/none"}, &copied); err != nil ||
		string(a.Body) != "hunter2\n" || copied.String() != `{"a": 1}` {
		t.Errorf("%+v, %v, copied %q", a, err, copied.String())
	}
}

func TestErrorsKeepSecrets(t *testing.T) {
	long := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, strings.Repeat("x", 100))
	}))
	defer long.Close()
	c := client(t, Options{MaxBody: 99, Timeout: 200 * time.Millisecond})
	for address, want := range map[string]string{
		long.URL + "?hunter2":                   "more than 99 bytes",
		long.URL + "/slow?hunter2":              context.DeadlineExceeded.Error(),
		"http://u:hunter2@127.0.0.1:1/?hunter2": "connection refused",
		"http://hunter2 x/":                     "is invalid",
	} {
		_, err := c.Do(t.Context(), Request{URL: address})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
		var out bytes.Buffer
		if _, err = c.Copy(t.Context(), Request{URL: address}, &out); err == nil {
			t.Errorf("%s: copied", address)
		}
	}
}

// TestCertificates checks that a server with an unknown certificate is refused, and accepted with
// its authority or without verification.
func TestCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = nil
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	pem := "-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(s.Certificate().Raw) + "\n-----END CERTIFICATE-----\n"
	if err := os.WriteFile(ca, []byte(pem), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o  Options
		ok bool
	}{{Options{}, false}, {Options{CA: ca}, true}, {Options{Insecure: true}, true}} {
		if _, err := client(t, tt.o).Do(t.Context(), Request{URL: s.URL}); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
	for _, o := range []Options{{CA: "/nonexistent"}, {Cert: "/nonexistent"}, {CA: "/dev/null"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := New(Options{CA: "/nonexistent"}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestParts(t *testing.T) {
	for in, want := range map[string]string{"web 1": "web%201", "ä?#": "%C3%A4%3F%23", "a.b": "a.b",
		"..": "", ".": "", "a/b": "", "a\nb": "", `a\b`: "", "": ""} {
		got, err := Part("id", in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Part(%q) = %q, %v", in, got, err)
		}
	}
	if got := Public("https://u:p@h/x?token=1#y"); got != "https://h/x" {
		t.Error(got)
	}
	for address, ok := range map[string]bool{"http://h": true, "https://h/x": true, "ftp://h": false,
		"h": false, "http://": false} {
		if (CheckURL(address) == nil) != ok {
			t.Errorf("CheckURL(%q) = %v", address, CheckURL(address))
		}
	}
}
