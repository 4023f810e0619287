package saltjinja

import (
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// TestFailedRenderingIsLogged checks the line that operators of Salt search their logs for
// (salt/utils/templates.py). Unlike Salt's it contains no line of the source, which may contain
// secrets of a pillar.
func TestFailedRenderingIsLogged(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	e := engine(t, New(), &loader.Env{Log: log}, render.Roots{})
	for _, tt := range []struct {
		text string
		want string
	}{
		{"{{ 1 }}\n", ""},
		{"{{ nope.x }}\n", "Rendering exception occurred: Jinja variable 'nope' is undefined"},
		{"password: SECRET\nx: {{ nope.x }}\n",
			"Rendering exception occurred: Jinja variable 'nope' is undefined"},
		{"{% load_json as x %}{SECRET{% endload %}\n",
			"Rendering exception occurred: Jinja syntax error: Unable to load json: "},
		{"{% if %}\n", "Rendering exception occurred: Jinja syntax error: "},
	} {
		hook.Reset()
		for range 2 {
			_, err := e.Template(t.Context(), "jinja", render.Input{Text: tt.text})
			if (err != nil) != (tt.want != "") {
				t.Errorf("%q: %v", tt.text, err)
			}
		}
		entries := hook.AllEntries()
		if tt.want == "" && len(entries) > 0 || tt.want != "" && len(entries) != 2 {
			t.Fatalf("%q: %d lines in the log", tt.text, len(entries))
		}
		for _, entry := range entries {
			if entry.Level != logrus.ErrorLevel || !strings.HasPrefix(entry.Message, tt.want) {
				t.Errorf("%q: log has %s %q, want error %q", tt.text, entry.Level, entry.Message, tt.want)
			}
			if strings.Contains(entry.Message, "SECRET") {
				t.Errorf("%q: the log shows a secret: %q", tt.text, entry.Message)
			}
		}
	}
}
