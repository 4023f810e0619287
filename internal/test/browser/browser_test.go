package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/browser"
	"github.com/brineproject/brine/internal/test/need"
)

// A witness takes the errors of a test.
type witness struct {
	testing.TB
	errors []string
}

func (w *witness) Errorf(_ string, args ...any) {
	for _, a := range args {
		if text, ok := a.(string); ok {
			w.errors = append(w.errors, text)
		}
	}
}

const form = `<!DOCTYPE html><html lang="en"><title>Form</title><form><label for="n">Name</label><input id="n" name="n" autofocus>
<button id="go">Go</button></form><p id="out">nothing</p><script src="/script.js"></script></html>`

func serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; form-action 'self'")
		_, _ = w.Write([]byte(strings.ReplaceAll(form, "nothing", "name "+r.URL.Query().Get("n"))))
	})
	mux.HandleFunc("GET /script.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte(`setTimeout(() => document.body.append("later"), 50)`))
	})
	mux.HandleFunc("GET /bad", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		_, _ = w.Write([]byte(`<!DOCTYPE html><p style="color: red">inline</p>`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestPage(t *testing.T) {
	need.Time(t, "it starts a browser")
	p := browser.Start(t)
	p.Forgive("favicon")
	p.Emulate(390, 800, true)
	p.Open(serve(t))
	p.WaitText("later")
	p.Fits()
	p.Press("a", "b", "Enter")
	p.Until(`location.search === "?n=ab"`)
	p.WaitFor("#out")
	if got := p.Text("#out"); got != "name ab" {
		t.Errorf("the text is %q", got)
	}
	p.Type("#n", "cd")
	p.Follow("#go")
	if got := p.Address(); !strings.HasSuffix(got, "/?n=cd") {
		t.Errorf("the address is %q", got)
	}
	if got := p.Eval(`innerWidth + " " + matchMedia("(prefers-color-scheme: dark)").matches`); got != "390 true" {
		t.Errorf("size and colours are %s", got)
	}
}

// What the content security policy of a page forbids, and its errors, fail a test.
func TestErrorsOfPages(t *testing.T) {
	need.Time(t, "it starts a browser")
	w := &witness{TB: t}
	p := browser.Start(w)
	p.Forgive("favicon")
	p.Open(serve(t) + "/bad")
	p.Eval(`console.error("a fault") ?? ""`)
	p.Eval(`new Promise((go) => { setTimeout(() => { setTimeout(go); throw new Error("thrown") }) })`)
	p.Eval(`""`)
	all := strings.Join(w.errors, "\n")
	for _, want := range []string{"Content Security Policy", "a fault", "thrown"} {
		if !strings.Contains(all, want) {
			t.Errorf("the errors of the page have no %q:\n%s", want, all)
		}
	}
}
