package match

import (
	"fmt"
	"testing"

	"github.com/brineproject/brine/data"
)

type benchCache map[string]*Minion

func (c benchCache) Minion(id string) (grains, pillar *data.Map, ok bool) {
	m, ok := c[id]
	if !ok {
		return nil, nil, false
	}
	return m.Grains, m.Pillar, true
}

func (c benchCache) IDs() []string { return nil }

// BenchmarkResolve10000 resolves targets over 10 000 minions with about 100 grains each.
func BenchmarkResolve10000(b *testing.B) {
	cache := benchCache{}
	fleet := &Fleet{Cache: cache, DataCache: true, Greedy: true}
	for i := range 10_000 {
		id := fmt.Sprintf("minion%05d.example.com", i)
		grains := data.NewMap()
		for j := range 100 {
			grains.Set(fmt.Sprint("grain", j), fmt.Sprint("value", j))
		}
		grains.Set("os", []string{"Debian", "CentOS", "Ubuntu"}[i%3])
		grains.Set("ipv4", []any{"127.0.0.1", fmt.Sprintf("10.%d.%d.1", i/256, i%256)})
		cache[id] = &Minion{id, grains, data.NewMap("role", "web")}
		fleet.Accepted = append(fleet.Accepted, id)
	}
	for _, bb := range []struct{ kind, tgt string }{
		{"glob", "*"}, {"glob", "minion0*5.example.com"}, {"pcre", `minion\d+5\.`}, {"pcre", `(?!minion0).*`},
		{"list", "minion00001.example.com,minion00002.example.com"},
		{"grain", "os:Debian"}, {"grain_pcre", "os:(Deb|Cent).*"}, {"pillar", "role:w*"}, {"ipcidr",
			"10.1.0.0/16"},
		{"compound", "minion0* and G@os:Debian and not S@10.0.0.0/16"},
	} {
		b.Run(bb.kind+"="+bb.tgt, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := fleet.Resolve(bb.tgt, bb.kind, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMinion measures a minion's work for each publication.
func BenchmarkMinion(b *testing.B) {
	m := &Minion{ID: "web1.example.com",
		Grains: data.NewMap("os", "Debian", "ipv4", []any{"127.0.0.1", "10.0.0.1"})}
	for _, bb := range []struct{ kind, tgt string }{
		{"glob", "web*"}, {"grain", "os:Debian"}, {"pcre", "web.*"}, {"compound", "web* and G@os:Debian"},
	} {
		b.Run(bb.kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := Compile(bb.tgt, bb.kind, "", Options{})
				if err != nil || !e.Match(m) {
					b.Fatal(err)
				}
			}
		})
	}
}
