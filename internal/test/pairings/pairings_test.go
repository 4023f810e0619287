//go:build linux

package pairings

import (
	"fmt"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// TestPairings tests trees and failovers of all pairs of makers, and prints a table of each. A step may take
// its patience, so that all of them take up to an hour if they fail.
func TestPairings(t *testing.T) {
	need.Time(t, "it starts many masters and minions, of Brine and of Salt")
	b := newBench(t)
	var trees, failovers []*row
	t.Run("trees", func(t *testing.T) { trees = runTrees(t, b) })
	t.Run("failover", func(t *testing.T) { failovers = runFailovers(t, b) })
	report(t, "Salt "+b.salt.Version()+": top / lower / syndic", trees)
	report(t, "Salt "+b.salt.Version()+": failover", failovers)
}

// report prints a table, and fails the test for steps that failed without an excuse. Rows that -run leaves
// out are not in it.
func report(t *testing.T, title string, all []*row) {
	t.Helper()
	var rows []*row
	for _, w := range all {
		if len(w.outcomes) > 0 {
			rows = append(rows, w)
		}
	}
	if len(rows) == 0 {
		return
	}
	for _, w := range rows {
		w.judge(t)
	}
	t.Logf("%s\n\n%s", title, table(title, rows))
}

// runTrees takes the steps with each tree, several trees at a time.
func runTrees(t *testing.T, b *bench) []*row {
	control := &row{control: true}
	var rows []*row
	for i, p := range []struct {
		top, lower, syndic maker
		row                *row
	}{
		{brine, salt, salt, &row{like: control}}, // Salt's syndic keeps the first key of its lower master
		{salt, brine, brine, &row{}},
		{salt, salt, brine, &row{}},
		{brine, brine, salt, &row{}},
		{brine, brine, brine, &row{}},
		{salt, salt, salt, control},
	} {
		p.row.name = fmt.Sprintf("%s / %s / %s", p.top, p.lower, p.syndic)
		rows = append(rows, p.row)
		t.Run(fmt.Sprintf("%s over %s with the syndic of %s", p.top, p.lower, p.syndic), func(t *testing.T) {
			t.Parallel()
			r := newTree(t, b, i, p.top, p.lower, p.syndic)
			for _, s := range r.steps() {
				p.row.take(t, s)
				if p.row.outcomes[0].err != nil {
					return // nothing runs
				}
			}
		})
	}
	return rows
}
