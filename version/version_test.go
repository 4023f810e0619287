package version

import (
	"regexp"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	if got := Line("salt-key"); got != "salt-key 3006.18 (Sulfur)" {
		t.Errorf("Line = %q", got)
	}
}

// TestReport checks the layout of Salt's report: titles, right-aligned names, a line with one space
// after each part.
func TestReport(t *testing.T) {
	title, row := regexp.MustCompile(`^[A-Z][a-z]+ Versions?:$`), regexp.MustCompile(`^ +[^ :]+: .*$`)
	parts := strings.Split(strings.TrimSuffix(Report(), "\n \n"), "\n \n")
	if len(parts) != 4 {
		t.Fatalf("%d parts in\n%s", len(parts), Report())
	}
	colon := strings.Index(strings.Split(parts[0], "\n")[1], ":")
	for _, p := range parts {
		lines := strings.Split(p, "\n")
		if !title.MatchString(lines[0]) {
			t.Errorf("title %q", lines[0])
		}
		for _, l := range lines[1:] {
			if !row.MatchString(l) || strings.Index(l, ":") != colon {
				t.Errorf("row %q", l)
			}
		}
	}
	if !strings.Contains(parts[0], " Salt: "+Salt()) || !strings.Contains(parts[0], " Brine: "+String()) {
		t.Errorf("no versions in %q", parts[0])
	}
}
