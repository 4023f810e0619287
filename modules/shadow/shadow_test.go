//go:build linux

package shadow

import (
	"strings"
	"testing"
)

func TestWithPassword(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"root:*:1:0:9:7:::\nann:!:2:0:9:7:::\nbob:x:3::::::\n",
			"root:*:1:0:9:7:::\nann:$6$a:20000:0:9:7:::\nbob:x:3::::::\n"},
		{"ann:!\nbob:x", "ann:$6$a:20000::::::\nbob:x"},
		{"ann:!:2:0:9:7::::more:fields\n", "ann:$6$a:20000:0:9:7:::\n"},
		{"annie:!:2:0:9:7:::", "annie:!:2:0:9:7:::\nann:$6$a:20000::::::\n"},
		{"", "ann:$6$a:20000::::::\n"},
	} {
		for range 2 {
			if got := withPassword(c.text, "ann", "$6$a", 20000); got != c.want {
				t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ann:$6$a$b:20000:0:99999:7:::")
	f.Add("+ann::::::::")
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := parse(line)
		if ok && (e.name == "" || strings.Contains(e.name, ":")) {
			t.Errorf("%q gives the name %q", line, e.name)
		}
		_ = e.toMap()
		if !strings.ContainsAny(line, "\n") && ok && len(strings.TrimSpace(line)) == len(line) {
			again, ok := parse(strings.TrimSuffix(withPassword(line+"\n", e.name, "h", 1), "\n"))
			if !ok || again.password != "h" || again.name != e.name || again.day("max") != e.day("max") {
				t.Errorf("%q becomes %v", line, again)
			}
		}
	})
}
