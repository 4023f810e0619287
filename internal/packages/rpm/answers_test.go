package rpm

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestVersionCmp(t *testing.T) {
	for _, c := range []struct {
		a, b, ignore any
		want         int64
	}{
		{"0.2-001", "0.2.0.1-002", false, -1}, {"1:1.0", "1.0", nil, 1}, {"1:1.0", "1.0", true, 0},
		{1.5, "1.4", false, 1},
	} {
		if got := VersionCmp(c.a, c.b, c.ignore); got != c.want {
			t.Errorf("%v and %v (%v): %d, want %d", c.a, c.b, c.ignore, got, c.want)
		}
	}
}

func TestParseArch(t *testing.T) {
	for name, want := range map[string]string{
		"zsh.x86_64": "{'name': 'zsh', 'arch': 'x86_64'}", "zsh": "{'name': 'zsh', 'arch': None}",
		"a.noarch": "{'name': 'a', 'arch': 'noarch'}",
	} {
		if got := data.Repr(ParseArch(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
