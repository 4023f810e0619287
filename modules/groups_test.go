//go:build !small

package modules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/loader"
)

// The table of groups lists what the full build has, and the page on small builds shows it.
func TestGroupsListWhatASmallBuildLeavesOut(t *testing.T) {
	names := func(plugins []loader.Plugin) (list []string) {
		for _, p := range plugins {
			list = append(list, p.Name)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	every := names(core(Brought()))
	g := full{}
	built := map[string][]loader.Plugin{
		"database":  g.database(),
		"extra":     g.extra(),
		"languages": g.languages(),
		"monitor":   g.monitor(),
		"packages":  g.packages(),
		"security":  g.security(),
		"storage":   g.storage(),
		"web":       g.web(),
	}
	page, err := os.ReadFile("../docs/small-builds.md")
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, group := range groups() {
		have := slices.DeleteFunc(names(built[group.Tag]), func(name string) bool { return slices.Contains(every, name) })
		if want := strings.Fields(group.Plugins); !slices.Equal(have, want) {
			t.Errorf("group %s has %q, its row in groups.go %q", group.Tag, have, want)
		}
		known += len(built[group.Tag])
		_, row, _ := strings.Cut(string(page), "\n| `"+group.Tag+"` |")
		row, _, _ = strings.Cut(row, "\n")
		cell := strings.Split(row+"|||", "|")[0]
		for _, name := range have {
			if !strings.Contains(cell, "`"+name+"`") {
				t.Errorf("docs/small-builds.md does not show %s in the row of %s", name, group.Tag)
			}
		}
	}
	if all := extra(); len(all) != known || len(groups()) != len(built) {
		t.Errorf("the groups have %d plug-ins, a full build %d", known, len(all))
	}
}
