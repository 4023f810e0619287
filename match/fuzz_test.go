package match

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// FuzzTarget compiles any text as every kind of target and matches it, on both sides.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"*", "web[!1-3]*", `(?!web).*(?<=1)$`, "L@a,b or ( not N@g and G|@a|b )",
		"os:(?:Deb|Cent).*", "*:*:x", "10.0.0.0/8", "a:b:c:*", "N@loop", `[\W\d^-]{,3}`,
		"(?imx: a # )\n)", "S@::1 or P@a:[", "not not ( )",
	} {
		f.Add(s, ":")
	}
	minion := &Minion{
		ID: "web1",
		Grains: data.NewMap("os", "Debian",
			"a", data.NewMap("b", []any{"c", data.NewMap("d", 1.5)}), "ipv4", []any{"10.0.0.1"}),
		Pillar: data.NewMap("x", nil),
	}
	groups := data.NewMap("g", []any{"web1", "or", "N@h"}, "h", "db[12]", "loop", "N@loop")
	fleet := &Fleet{Accepted: []string{"db1", "web1"}, Cache: fuzzCache{minion}, DataCache: true,
		Nodegroups: groups}
	f.Fuzz(func(t *testing.T, s, delim string) {
		for _, kind := range []string{
			"glob", "pcre", "list", "grain", "grain_pcre", "pillar", "pillar_exact", "pillar_pcre",
			"ipcidr", "compound", "nodegroup",
		} {
			e, err := Compile(s, kind, delim, Options{Nodegroups: groups})
			named := err == nil && e.Match(minion)
			ids, _, err := fleet.Resolve(s, kind, delim)
			if err != nil && len(ids) > 0 {
				t.Fatalf("Resolve(%q, %s) = %q and %v", s, kind, ids, err)
			}
			if err == nil && kind != "nodegroup" && named && !contains(ids, "web1") {
				t.Fatalf("%s %q names web1 on the minion, and %q on the master", kind, s, ids)
			}
		}
	})
}

func contains(ids []string, id string) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}

type fuzzCache struct{ m *Minion }

func (c fuzzCache) Minion(id string) (grains, pillar *data.Map, ok bool) {
	if id != c.m.ID {
		return nil, nil, false
	}
	return c.m.Grains, c.m.Pillar, true
}

func (c fuzzCache) IDs() []string { return []string{c.m.ID} }

// FuzzGroups checks that groups lie within the text, and that both engines agree on whether there
// is a match.
func FuzzGroups(f *testing.F) {
	for _, s := range [][2]string{{`(\w)\1`, "aab"}, {`(?P<q>['"]).*?(?P=q)`, `'b"'`}, {`(?<=é)(?!c)`, "éx"}, {`(<)?a(?(1)>|$)`, "<a>"}, {`[\W\d[^]+?`, "a-["}, {`(?imx: a # )
)`, "A"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		g, err := CompileGroups(expr, false, true)
		if err != nil {
			return
		}
		if g.back != nil {
			g.back.MatchTimeout = 1 // a deep search ends at once
		}
		all, err := g.FindAll(text, 100)
		for _, at := range all {
			if len(at) != 2*g.NumSubexp()+2 {
				t.Fatalf("%q has %d groups, found %v", expr, g.NumSubexp(), at)
			}
			for i := 0; i < len(at); i += 2 {
				if at[i] > at[i+1] || at[i] < -1 || at[i+1] > len(text) {
					t.Fatalf("%q on %q: %v", expr, text, at)
				}
			}
		}
		if ok, fault := g.Match(text); err == nil && fault == nil && ok != (len(all) > 0) {
			t.Fatalf("%q on %q: matches is %v, found %v", expr, text, ok, all)
		}
	})
}
