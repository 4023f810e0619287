package main

import (
	"fmt"
	"slices"
	"strings"
)

// leastTrees is the share, in per cent, of the trees without Python of their own that must find
// everything.
const leastTrees = 95

// A treeReport sums up trees.
type treeReport struct {
	plain, plainWhole int // trees without Python of their own, and those that miss nothing
	trees             []*tree
}

func newTreeReport(trees []*tree) *treeReport {
	r := &treeReport{trees: trees}
	for _, t := range trees {
		if !t.ships {
			r.plain++
			if len(t.missing) == 0 {
				r.plainWhole++
			}
		}
	}
	return r
}

// share returns the share of the plain trees that miss nothing, in per cent.
func (r *treeReport) share() float64 { return 100 * float64(r.plainWhole) / float64(max(r.plain, 1)) }

// enough returns an error if too many trees miss something.
func (r *treeReport) enough() error {
	if share := r.share(); share < leastTrees {
		return fmt.Errorf("%.1f %% of the trees without Python of their own have nothing missing, and "+
			"%d %% must", share, leastTrees)
	}
	return nil
}

// text returns the report as text.
func (r *treeReport) text() string {
	var b strings.Builder
	whole, files := 0, 0
	for _, t := range r.trees {
		files += t.files
		if len(t.missing) == 0 {
			whole++
		}
	}
	fmt.Fprintf(&b, "Of %d trees with %d SLS files %d have nothing missing. ", len(r.trees), files, whole)
	fmt.Fprintf(&b, "Of the %d that ship no Python of their own %d have nothing missing: %.1f %%.\n",
		r.plain, r.plainWhole, r.share())
	b.WriteString("\nTrees, those with Python of their own marked by a star:\n")
	for _, t := range r.trees {
		b.WriteString(t.line())
	}
	rank(&b, "Missing names, by trees", r.trees, func(t *tree) names { return t.missing })
	rank(&b, "Names that Salt has on other platforms only", r.trees,
		func(t *tree) names { return t.elsewhere })
	rank(&b, "Names that Salt does not have", r.trees, func(t *tree) names { return t.notInSalt })
	b.WriteString("\nFiles with errors in their Jinja:\n")
	for _, t := range r.trees {
		for _, file := range t.unread {
			fmt.Fprintf(&b, "  %s/%s\n", t.name, file)
		}
	}
	return b.String()
}

// line returns what a tree misses.
func (t *tree) line() string {
	mark, what := " ", "nothing missing"
	if t.ships {
		mark = "*"
	}
	if len(t.missing) > 0 {
		what = list(t.missing)
	}
	if n := len(t.unread); n == 1 {
		what += " (1 file with errors in its Jinja)"
	} else if n > 1 {
		what += fmt.Sprintf(" (%d files with errors in their Jinja)", n)
	}
	return fmt.Sprintf("%s %-50s %5d  %s\n", mark, t.name, t.files, what)
}

func list(n names) string {
	var texts []string
	for _, one := range n.sorted() {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, ", ")
}

// rank lists names by the number of trees, with the first file that has each, or its platform.
func rank(b *strings.Builder, title string, trees []*tree, of func(*tree) names) {
	type entry struct {
		name         name
		plain, trees int
		where        string
	}
	found := map[name]*entry{}
	for _, t := range trees {
		for n, value := range of(t) {
			e := found[n]
			if e == nil {
				e = &entry{name: n, where: value}
				found[n] = e
			}
			e.trees++
			if !t.ships {
				e.plain++
			}
		}
	}
	var entries []*entry
	for _, e := range found {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(x, y *entry) int {
		if x.trees != y.trees {
			return y.trees - x.trees
		}
		return strings.Compare(x.name.String(), y.name.String())
	})
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, e := range entries {
		fmt.Fprintf(b, "  %-50s %3d in all, %d without Python of their own; %s\n", e.name, e.trees, e.plain, e.where)
	}
}
