package returnertest

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Lookup fills a store through a returner's plug-in and saveLoad, which stores a load (JSON) as
// Salt's save_load does. It compares the results of the functions get_jid, get_fun, get_jids and
// get_minions with those of Salt 3006.18 after the same calls. In Salt get_fun works only in mysql;
// the other stores are compared to it. value means that the store holds only the value of a return,
// as sqlite3 does.
func Lookup(
	t *testing.T, plugin loader.Plugin, opts *data.Map, value bool, saveLoad func(jid, load string),
) {
	t.Helper()
	shelf, err := loader.NewRegistry(&loader.Env{Opts: opts}, []loader.Plugin{plugin})
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string, args ...any) string {
		t.Helper()
		v, err := shelf.Invoke(t.Context(), plugin.Name+"."+name, args, nil)
		if err != nil {
			return "error: " + err.Error()
		}
		text, err := output.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, fun := range []string{"get_jids", "get_minions"} {
		if got := call(fun); got != "{}" && got != "[]" {
			t.Errorf("%s of an empty place: %s", fun, got)
		}
	}
	const first, last = "20261122010203040506", "20261122010203040508"
	for range 2 { // the second changes nothing
		saveLoad(first, `{"jid": "`+first+
			`", "fun": "test.ping", "arg": [], "tgt": "web*", "tgt_type": "glob", "user": "sudo_ann", "cmd": "publish", "ret": ""}`)
		saveLoad("20261122010203040507",
			`{"jid": "20261122010203040507", "fun": "test.arg", "arg": ["a", {"k": 1}], "tgt": "web*", "tgt_type": "glob", `+
				`"user": "sudo_ann", "cmd": "publish", "ret": "", "kwargs": {"metadata": {"a": 1}}}`)
		saveLoad(last, `{"jid": "`+last+`"}`)
		saveLoad("other", `{"jid": "other", "fun": "state.apply", "arg": [], "tgt": "web*", "tgt_type": "glob", "user": "sudo_ann"}`)
		for _, r := range []*data.Map{
			answer("web1", first, "test.ping", true), answer("web2", first, "test.ping", true),
			answer("web1", "20261122010203040507", "test.arg", deep()), answer("web1", last,
				"test.ping", deep()),
		} {
			if got := call("returner", r); got != "null" {
				t.Fatal(got)
			}
		}
	}
	ping := func(minion string) string {
		return `"` + minion + `": {"id": "` + minion + `", "jid": "` + first +
			`", "fun": "test.ping", "fun_args": [], "return": true, "retcode": 0, "success": true}`
	}
	deepest := `"web1": {"id": "web1", "jid": "` + last +
		`", "fun": "test.ping", "fun_args": [], ` +
		`"return": {"z": "größe", "a": [1, null, true, 2.5]}, "retcode": 0, "success": true}`
	if value {
		ping = func(minion string) string { return `"` + minion + `": {"return": true}` }
		deepest = `"web1": {"return": {"z": "größe", "a": [1, null, true, 2.5]}}`
	}
	named := `"Target": "web*", "Target-type": "glob", "User": "sudo_ann", `
	for _, tt := range []struct {
		name string
		args []any
		want string
	}{
		{"get_jid", []any{first}, "{" + ping("web1") + ", " + ping("web2") + "}"},
		{"get_jid", []any{"nix"}, "{}"},
		{"get_fun", []any{"test.ping"}, "{" + deepest + ", " + ping("web2") + "}"},
		{"get_fun", []any{"nix.x"}, "{}"},
		{"get_fun", []any{"'; DROP TABLE jids; --"}, "{}"},
		{"get_minions", nil, `["web1", "web2"]`},
		{"get_jids", nil, `{"` + first + `": {"Function": "test.ping", "Arguments": [], ` + named +
			`"StartTime": "2026, Nov 22 01:02:03.040506"}, ` +
			`"20261122010203040507": {"Function": "test.arg", "Arguments": ["a", {"k": 1}], ` +
			named + `"Metadata": {"a": 1}, "StartTime": "2026, Nov 22 01:02:03.040507"}, ` +
			`"` + last + `": {"Function": "unknown-function", "Arguments": [], "Target": "unknown-target", "Target-type": "list", "User": "root", ` +
			`"StartTime": "2026, Nov 22 01:02:03.040508"}, "other": {"Function": "state.apply", "Arguments": [], ` + named + `"StartTime": ""}}`},
	} {
		if got := call(tt.name, tt.args...); !sameJSON(got, tt.want) {
			t.Errorf("%s %v:\n%s, want\n%s", tt.name, tt.args, got, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shelf.Invoke(ctx, plugin.Name+".get_minions", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "read minions in "+plugin.Name) {
		t.Errorf("get_minions of a caller that gave up: %v", err)
	}
}

// sameJSON compares JSON ignoring the order of keys, which jsonb does not preserve.
func sameJSON(a, b string) bool {
	x, err := returners.ParseJSON([]byte(a))
	y, err2 := returners.ParseJSON([]byte(b))
	return err == nil && err2 == nil && data.Equal(x, y)
}

func answer(minion, jid, fun string, v any) *data.Map {
	return data.NewMap("id", minion, "jid", jid, "fun", fun, "fun_args", []any{}, "return", v,
		"retcode", int64(0), "success", true)
}

func deep() any { return data.NewMap("z", "größe", "a", []any{int64(1), nil, true, 2.5}) }
