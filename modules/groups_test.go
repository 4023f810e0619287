package modules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/loader"
)

// TestGroupsNameTheirPlugins compares the names of each group, which errors of a small build use, with
// the plug-ins that a full build has of it.
func TestGroupsNameTheirPlugins(t *testing.T) {
	page, err := os.ReadFile("../docs/small.md")
	if err != nil {
		t.Fatal(err)
	}
	groups := Groups()
	for i, g := range groups {
		want := virtualNames(g.Plugins)
		if len(want) == 0 {
			t.Errorf("a full build has nothing of the group %s", g.Tag)
		}
		shared := virtualNames(core(Brought())) // and what several groups provide, such as pkg
		for _, other := range slices.Concat(groups[:i], groups[i+1:]) {
			shared = append(shared, virtualNames(other.Plugins)...)
		}
		want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(shared, name) })
		if got := strings.Fields(g.Names); !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("group %s names %q, its plug-ins are %q", g.Tag, got, want)
		}
		tag := g.Tag
		if g.Kept {
			tag = "no" + tag
		}
		if !strings.Contains(string(page), "| `"+tag+"` |") {
			t.Errorf("docs/small.md has no row of the tag %s", tag)
		}
	}
	if !slices.IsSortedFunc(groups, func(a, b loader.Group) int { return strings.Compare(a.Tag, b.Tag) }) {
		t.Error("the groups are not in the order of their tags")
	}
}

// virtualNames returns the sorted virtual names of plug-ins.
func virtualNames(plugins []loader.Plugin) []string {
	var list []string
	for _, p := range plugins {
		list = append(append(list, p.Name), p.Aliases...)
	}
	slices.Sort(list)
	return list
}
