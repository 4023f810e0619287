package render_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/render"
)

// TestStateConf compares with results of Salt 3006.
func TestStateConf(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"values, start and goal", `#!stateconf -s yaml . jinja
.params:
  stateconf.set:
    - port: 80
    - name: x

# --- end of state config ---

.one:
  test.nop:
    - a: {{ params.port }}
    - require:
      - test: other
other:
  test.nop: []
.two:
  test.nop:
    - name: n
    - watch_in:
      - test: .one
`, `{"other":{"test.nop":[]},"web.site.sc::params":{"stateconf.set":[{"port":80},{"name":"x"}]},"web.site.sc::one":{"test.nop":[{"name":"one"},{"a":80},{"require":[{"test":"other"}]}]},"web.site.sc::two":{"test.nop":[{"name":"n"},{"watch_in":[{"test":"web.site.sc::one"}]}]},"web.site.sc::start":{"stateconf.set":[{"require_in":[{"stateconf":"web.site.sc::params"}]}]},"web.site.sc::goal":{"stateconf.set":[{"require":[{"stateconf":"web.site.sc::params"},{"test":"web.site.sc::one"},{"test":"other"},{"test":"web.site.sc::two"},{"stateconf":"web.site.sc::start"}]}]}}`},
		{"in order, without a goal", `#!stateconf -Go yaml . jinja
x1:
  test.nop: []
a:
  test.nop: []
b:
  test.nop:
    - require:
      - test: a
`, `{"x1":{"test.nop":[]},"a":{"test.nop":[{"require":[{"test":"x1"}]}]},"b":{"test.nop":[{"require":[{"test":"a"},{"test":"a"}]}]}}`},
		{"includes and extend", `#!stateconf
include:
  - .foo
  - other: ..bar
.one:
  test.nop:
    - require:
      - test: .two
.two:
  test:
    - nop
    - names: [a]
extend:
  .three:
    test.nop:
      - require:
        - test: .one
`, `{"include":[{"base":"web.site.foo"},{"other":"web.bar"}],"extend":{"web.site.sc::three":{"test.nop":[{"name":"three"},{"require":[{"test":"web.site.sc::one"}]}]}},"web.site.sc::one":{"test.nop":[{"name":"one"},{"require":[{"test":"web.site.sc::two"}]}]},"web.site.sc::two":{"test":[{"name":"two"},"nop",{"names":["a"]}]},"web.site.sc::goal":{"stateconf.set":[{"require":[{"test":"web.site.sc::one"},{"test":"web.site.sc::two"}]}]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, err := vectors.Decode([]byte(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			got, err := engine(t, nil).Render(t.Context(),
				render.Input{Text: tt.text, Path: "/srv/web/site/sc.sls", SaltEnv: "base",
					SLS: "web.site.sc"})
			if err != nil || data.Repr(got) != data.Repr(want) {
				t.Errorf("got  %s, %v\nwant %s", data.Repr(got), err, data.Repr(want))
			}
		})
	}
}

func TestStateConfErrors(t *testing.T) {
	for text, want := range map[string]string{
		"#!stateconf yaml\na: {}\n":                                         "Invalid use of stateconf renderer!\nUsage: #!stateconf [-GoSp] [<data_renderer> [options] . <template_renderer> [options]]",
		"#!stateconf yaml . nope\na: {}\n":                                  "Renderer: 'nope' is not available!",
		"#!stateconf -o json . jinja\n{}\n":                                 "Implicit ordering is only supported if the yaml renderer is used!",
		"#!stateconf\ninclude: [....x]\n":                                   "Attempted relative include goes beyond top level package",
		"#!stateconf -o\na:\n  t.n: [{require: [{t: b}]}]\nb:\n  t.n: []\n": "State(a:t) can't require/watch/listen/onchanges/onfail a state(b:t) defined after it!",
	} {
		_, err := engine(t, nil).Render(t.Context(),
			render.Input{Text: text, Path: "/srv/a.sls", SaltEnv: "base", SLS: "web.a"})
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
