package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// serve runs a web service and opens the system that asks it.
func serve(t *testing.T, h http.HandlerFunc) *service {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return opened(t, server.URL)
}

func opened(t *testing.T, address string) *service {
	t.Helper()
	s, err := Open(data.NewMap("external_auth",
		data.NewMap("rest", data.NewMap("^url", address, "fred", []any{"test.ping"}))))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*service)
}

var fred = auth.Login{Name: "fred", Password: "se&cret"}

func TestLoginAndRights(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.PostFormValue("password") != "se&cret" || len(r.PostForm) != 2 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.PostFormValue("username") == "fred" {
			fmt.Fprint(w, `["@jobs", {"web*": ["test.*", {"cmd.run": {"args": ["ls"]}}]}]`)
		}
	})
	if ok, err := s.Login(t.Context(), fred); !ok || err != nil {
		t.Errorf("Login = %v, %v", ok, err)
	}
	if ok, err := s.Login(t.Context(), auth.Login{Name: "fred", Password: "wrong"}); ok || err != nil {
		t.Errorf("with a wrong password: %v, %v", ok, err)
	}
	want := []any{"test.ping", "@jobs",
		data.NewMap("web*", []any{"test.*", data.NewMap("cmd.run", data.NewMap("args", []any{"ls"}))})}
	if list, ok, err := s.Rules(t.Context(), fred); !ok || err != nil || !data.Equal(list, want) {
		t.Errorf("Rules = %s, %v, %v", data.Repr(list), ok, err)
	}
	if list, ok, err := s.Rules(t.Context(), auth.Login{Name: "ann", Password: "se&cret"}); ok || err != nil {
		t.Errorf("Rules of who has none = %s, %v, %v", data.Repr(list), ok, err)
	}
}

func TestRepliesThatAreNoLogin(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"not found": func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"redirect":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect) },
		"created":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) },
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"a map":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"fred": [".*"]}`) },
		"too long":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "["+strings.Repeat(" ", maxReply)+"]") },
	} {
		if ok, _ := serve(t, h).Login(t.Context(), fred); ok {
			t.Errorf("%s lets in", name)
		}
	}
	ended := httptest.NewServer(http.NotFoundHandler())
	ended.Close()
	if ok, err := opened(t, ended.URL).Login(t.Context(), fred); ok || err == nil {
		t.Errorf("nobody there: %v, %v", ok, err)
	}
}

// TestCertificatesAreChecked asks a service whose certificate nobody knows.
func TestCertificatesAreChecked(t *testing.T) {
	asked := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	server.Config.ErrorLog = nil
	if ok, err := opened(t, server.URL).Login(t.Context(), fred); ok || err == nil || asked {
		t.Errorf("Login = %v, %v", ok, err)
	}
}

func TestServiceThatHangs(t *testing.T) {
	done := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	})
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if ok, err := s.Login(ctx, fred); ok || err == nil {
		t.Errorf("Login = %v, %v", ok, err)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []any{nil, "", "file:///etc/passwd", "localhost:80", "https://"} {
		if _, err := Open(data.NewMap("external_auth",
			data.NewMap("rest", data.NewMap("^url", address)))); err == nil {
			t.Errorf("%v is an address", address)
		}
	}
}
