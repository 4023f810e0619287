package console

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// What a job was called with can be typed again.
func TestArgumentsCanBeTyped(t *testing.T) {
	for _, list := range [][]any{
		{"a", int64(3), "3", true, "true", nil, "None", 1.5, "", " a ", "a=b", "a: b", "[x", "a # b", "a=b # c", "x\ny", "tab\there"},
		{[]any{int64(1), "2", data.NewMap("a", "b # c")}, data.NewMap("k", []any{})},
		{data.NewMap(kwargMark, true, "mods", "a,b", "pillar", data.NewMap("x", "y=z"), "n", nil, "s", "1")},
		{"20260101000000000000", "!", "|", "---", "1_000", "<b>&", "ü"},
	} {
		args, named := splitArguments(list)
		lines := argumentLines(list)
		gotArgs, gotNamed := readArguments(strings.Join(lines, "\n"))
		if !data.Equal(append([]any{}, args...), gotArgs) || !data.Equal(named, gotNamed) {
			t.Errorf("%s is typed as %q and read as %s %s", data.Repr(list), lines, data.Repr(gotArgs), data.Repr(gotNamed))
		}
	}
}

func FuzzArgumentText(f *testing.F) {
	for _, s := range []string{"a", "3", "a=b", "# x", "'", `"`, "\n", "!", "{a: b}", "a: &x b", "ä\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if jsonText(s, pyjson.Options{}) == data.Repr(s) || strings.ContainsFunc(s, func(r rune) bool { return r == 0xfffd || r == 0xfeff }) {
			return // no text
		}
		args, named := readArguments(strings.Join(argumentLines([]any{s}), "\n"))
		if len(args) != 1 || args[0] != any(s) || named.Len() > 0 {
			t.Errorf("%q is typed as %q and read as %s %s", s, argumentLines([]any{s}), data.Repr(args), data.Repr(named))
		}
	})
}

func TestWithoutTest(t *testing.T) {
	list := []any{"a", "test=True", data.NewMap(kwargMark, true, "test", true)}
	if got := data.Repr(withoutTest(list)); got != "['a']" || !isTest(list) || !isTest(list[:2]) || isTest(list[:1]) {
		t.Errorf("without the test: %s", got)
	}
	if isTest([]any{data.NewMap(kwargMark, true, "test", false)}) {
		t.Error("test=False counts as a test")
	}
}

// Changes are shown with what they are, and every text of a minion is escaped.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		changes any
		want    string
	}{
		{data.NewMap(), ""},
		{data.NewMap("diff", "--- \n+++ \n@@ -1 +1 @@\n-<a>\n+b\n c\n"),
			`<div class="diff"><span class="at">--- </span><span class="at">+++ </span>` +
				`<span class="at">@@ -1 +1 @@</span><span class="del">-&lt;a&gt;</span><span class="add">+b</span><span> c</span></div>`},
		{data.NewMap("vim", data.NewMap("old", "", "new", "<9>")), `<div class="made"><div class="tree"><span class="key">vim:</span></div>` +
			`<div class="diff"><span class="add">+&lt;9&gt;</span></div></div>`},
		{data.NewMap("mode", "<0644>"),
			`<div class="tree"><ul><li><span class="key">mode:</span> <span class="text">&lt;0644&gt;</span></li></ul></div>`},
	} {
		if got := string(changesOf(tt.changes)); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", data.Repr(tt.changes), got, tt.want)
		}
	}
}
