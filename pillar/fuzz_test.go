package pillar_test

import (
	"context"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// FuzzCompile checks that top files and SLS of any form yield a pillar without ending the program.
func FuzzCompile(f *testing.F) {
	f.Add("base:\n  '*':\n    - p\n",
		"include:\n  - p\n  - q:\n      key: a:b\n      defaults: {x: 1}\na: 1\n")
	f.Add("include: [p]\nbase:\n  a: [{match: list}, {order: x}, p, 1]\n", "base: {'*': q}\n")
	f.Add("base:\n  1: [{match: 7}]\n2: {}\n", "- a\n")
	f.Add("[]", "include: {a: b}")
	f.Fuzz(func(t *testing.T, top, sls string) {
		roots := write(t, t.TempDir(),
			data.NewMap("base", data.NewMap("top.sls", "#!yaml\n"+top, "p.sls", "#!yaml\n"+sls,
				"q.sls", "b: 2\n")))
		c := compiler(t, pillar.Options{Opts: options(roots, nil)})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := c.Compile(ctx, pillar.Request{ID: "web1", Grains: baseGrains()}); err != nil {
			t.Fatal(err)
		}
	})
}
