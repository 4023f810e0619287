package media

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

// The results are those of CherryPy 18.8.0, except for types in capitals.
func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		accept string
		want   Format
	}{
		{"", JSON},
		{"*/*", JSON},
		{"application/json", JSON},
		{"application/x-yaml", YAML},
		{"application/*", JSON},
		{"application/json, application/x-yaml", YAML}, // of equals, the later in the alphabet
		{"application/json;q=0.5, application/x-yaml", YAML},
		{"application/x-yaml;q=0.5, application/json;q=0.4", YAML},
		{"application/x-yaml;q=0.5, application/json;q=0.6", JSON},
		{"text/html, */*;q=0.1", JSON},
		{"application/json;q=0, */*", JSON},
		{"application/json; q=0.1,application/x-yaml; q = 0.2", YAML},
		{"application/json;q=5, application/x-yaml;q=9", YAML},
		{"application/json;Q=0.1, application/x-yaml;q=0.2", YAML},
		{"application/json;level=1;q=0.1;ext=2, application/x-yaml;q=0.2", YAML},
		{`application/json;a="b, application/x-yaml`, YAML},
		{`application/json;a="b,c", application/x-yaml;q=0.1`, JSON},
		{" , application/x-yaml", YAML},
		{"text/plain, application/json;q=0.3, application/*;q=0.9", JSON},
		{"application/json, text/plain, */*", JSON},
		{"*/*, application/x-yaml", YAML},
		{"application/json ;q=0.2 , application/x-yaml", YAML},
		{"application/json;q=0.5;q=0.9, application/x-yaml;q=0.6", YAML},
		{"application/json;charset=utf-8", JSON},
		{"application/x-yaml;charset=a,application/x-yaml;q=0", YAML},
		{"application/json;q, application/x-yaml;q=0.9", JSON},
		{"Application/X-YAML", YAML},
	} {
		got, err := Choose(tt.accept)
		if err != nil || got != tt.want {
			t.Errorf("Choose(%q) = %v, %v, want %v", tt.accept, got, err, tt.want)
		}
	}
}

func TestChooseRejects(t *testing.T) {
	emits := "But this resource only emits these media types: application/json, application/x-yaml."
	for _, tt := range []struct {
		accept string
		status int
		text   string
	}{
		{"application/xml", 406, "Your client sent this Accept header: application/xml. " + emits},
		{"text/plain", 406, "Your client sent this Accept header: text/plain. " + emits},
		{"text/yaml", 406, "Your client sent this Accept header: text/yaml. " + emits},
		{"application/json;q=0", 406, "Your client sent this Accept header: application/json;q=0. " + emits},
		{"*/*;q=0", 406, "Your client sent this Accept header: */*;q=0. " + emits},
		{"application/json;q=-1", 406, "Your client sent this Accept header: application/json;q=-1. " + emits},
		{"*", 406, "Your client sent this Accept header: *. " + emits},
		{"application", 406, "Your client sent this Accept header: application. " + emits},
		{",", 406, "Your client sent this Accept header: ,. " + emits},
		{"a\xff", 406, "Your client sent this Accept header: a\ufffd. " + emits},
		{strings.Repeat("a", 5000), 406, "Your client sent this Accept header: " + strings.Repeat("a", 1000) +
			"…. " + emits},
		{"application/json;q=x", 400, "Malformed HTTP header: `application/json;q=x`"},
		{"text/html, application/json;q=", 400, "Malformed HTTP header: `application/json;q=`"},
		{"application/json;q=nan", 400, "Malformed HTTP header: `application/json;q=nan`"},
	} {
		_, err := Choose(tt.accept)
		wantError(t, err, tt.status, tt.text)
	}
}

func TestWantsHTML(t *testing.T) {
	for _, tt := range []struct {
		accept string
		sent   bool
		want   bool
	}{
		{"", false, true},
		{"", true, true},
		{"*/*", true, false},
		{"text/html", true, true},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true, true},
		{"text/*", true, true},
		{"*/*;q=0.8", true, true},
		{"application/json", true, false},
		{"application/x-yaml", true, false},
		{"application/json, text/plain, */*", true, false},
		{"text/html;q=0.5, application/json", true, false},
		{"application/xml", true, false},
		{"text/html;q=0", true, false},
		{"text/html;q=x", true, false},
		{"text/event-stream", true, false},
	} {
		if got := WantsHTML(tt.accept, tt.sent); got != tt.want {
			t.Errorf("WantsHTML(%q, %v) = %v", tt.accept, tt.sent, got)
		}
	}
}

func TestAccept(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	if accept, sent := Accept(r); accept != "" || sent {
		t.Errorf("Accept of no header = %q, %v", accept, sent)
	}
	r.Header.Add("Accept", "a/b")
	r.Header.Add("Accept", "c/d;q=0.1")
	if accept, sent := Accept(r); accept != "a/b, c/d;q=0.1" || !sent {
		t.Errorf("Accept of two headers = %q, %v", accept, sent)
	}
}

func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"*/*", "a/b;q=0.5, c/*", `a;b="c,d";q=1`, ",;,;q", "a;q=x", `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		format, err := Choose(accept)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Status != 406 && e.Status != 400) {
			t.Fatalf("Choose(%q): %v", accept, err)
		}
		if err == nil && format != JSON && format != YAML {
			t.Fatalf("Choose(%q) = %d", accept, format)
		}
		if WantsHTML(accept, true) && !strings.Contains(strings.ToLower(accept), "*") &&
			!strings.Contains(strings.ToLower(accept), "text/html") && accept != "" {
			t.Fatalf("WantsHTML(%q) is true", accept)
		}
	})
}
