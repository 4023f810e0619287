package media

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFail(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, tt := range []struct {
		accept, message string
		html            bool
		want            string
	}{
		{"application/json", "Bad IP", false, `{"status": 401, "return": "Bad IP"}`},
		{"application/x-yaml", "Bad IP", false, `{"status": 401, "return": "Bad IP"}`},
		{"*/*", "Bad IP", false, `{"status": 401, "return": "Bad IP"}`},
		{"", "Bad IP", false, `{"status": 401, "return": "Bad IP"}`},
		{"application/xml", "a \"b\" <c>\xff", false, "{\"status\": 401, \"return\": \"a \\\"b\\\" <c>\ufffd\"}"},
		{"application/json;q=x", "x", false, `{"status": 401, "return": "x"}`},
		{"application/json", "", false, `{"status": 401, "return": "Unauthorized"}`},
		{"application/json, text/html;q=0.9", "x", false, `{"status": 401, "return": "x"}`},
		{"text/html", "a <script>&\xff", true, "<p>a &lt;script&gt;&amp;\ufffd</p>"},
		{browser, "Bad IP", true, "<p>Bad IP</p>"},
		{browser, "Bad IP", true, "<title>401 Unauthorized</title>"},
		{browser, "Bad IP", true, "<h2>401 Unauthorized</h2>"},
	} {
		w := httptest.NewRecorder()
		new(Answers).Fail(w, get("Accept", tt.accept), 401, tt.message)
		kind := "application/json"
		if tt.html {
			kind = "text/html;charset=utf-8"
		}
		if w.Code != 401 || w.Header().Get("Content-Type") != kind || w.Header().Get("Server") != "" {
			t.Errorf("%q: answer is %d %v, want type %s", tt.accept, w.Code, w.Header(), kind)
		}
		got := w.Body.String()
		if tt.html && !strings.Contains(got, tt.want) || !tt.html && got != tt.want {
			t.Errorf("%q: body is %q, want %q", tt.accept, got, tt.want)
		}
	}
}

func TestFailAnswersHead(t *testing.T) {
	r := get()
	r.Method = http.MethodHead
	w := httptest.NewRecorder()
	new(Answers).Fail(w, r, 404, "x")
	if w.Code != 404 || w.Body.Len() > 0 || w.Header().Get("Content-Length") != "30" {
		t.Errorf("answer is %d %v %q", w.Code, w.Header(), w.Body)
	}
}

func TestRefuse(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		want   string
	}{
		{fmt.Errorf("read: %w", &Error{400, "Invalid JSON document", io.EOF}), 400,
			`{"status": 400, "return": "Invalid JSON document"}`},
		{errors.New("open /etc/secret: no"), 500, `{"status": 500, "return": "An unexpected error occurred"}`},
	} {
		w := httptest.NewRecorder()
		new(Answers).Refuse(w, get("Accept", "application/json"), tt.err)
		if w.Code != tt.status || w.Body.String() != tt.want {
			t.Errorf("Refuse(%v) answers %d %s", tt.err, w.Code, w.Body)
		}
	}
}

func TestError(t *testing.T) {
	err := error(&Error{400, "Invalid JSON document", io.EOF})
	if err.Error() != "Invalid JSON document: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("error is %v", err)
	}
	if err := (&Error{Status: 406, Text: "No"}); err.Error() != "No" {
		t.Errorf("error is %v", err)
	}
}
