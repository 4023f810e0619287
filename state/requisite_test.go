package state_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestRequisiteWithoutID checks that a list or a dictionary in place of an ID is a problem.
// Salt fails with a TypeError.
func TestRequisiteWithoutID(t *testing.T) {
	const text = "Invalid requisite KEY of ID 'x' in SLS 'bad': ['a'] is not the ID of a state"
	for sls, want := range map[string]string{
		"require_in: [[a]]":           strings.Replace(text, "KEY", "require_in", 1),
		"watch_in: [{test: [a]}]":     strings.Replace(text, "KEY", "watch_in", 1),
		"prereq_in: {test: [a]}":      strings.Replace(text, "KEY", "prereq_in", 1),
		"require_in: [{test: y}]":     "",
		"require_in: {test: y}":       "",
		"require_in: [y, {}, nosuch]": "",
	} {
		t.Run(sls, func(t *testing.T) {
			dir := t.TempDir()
			bad := "x: {test.nop: [{" + sls + "}]}\ny: {test.nop: []}\n"
			writeTree(t, dir, data.NewMap("base",
				data.NewMap("top.sls", "base: {'*': [bad]}\n", "bad.sls", bad)))
			m := &testMinion{grains: baseGrains(), pillar: data.NewMap(),
				opts: localOptions(dir, dir+"/base")}
			for range 2 {
				_, problems, err := show(t.Context(), m.compiler(t), "state.show_lowstate", nil, "base")
				if got := strings.Join(problems, "\n"); err != nil || got != want {
					t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
				}
			}
		})
	}
}
