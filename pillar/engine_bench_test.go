package pillar_test

import (
	"fmt"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/pillar"
)

// BenchmarkEngine makes the engine of one compilation, with all execution functions.
func BenchmarkEngine(b *testing.B) {
	lent := modules.Brought()
	make := pillar.Engines(loader.Env{}, modules.Plugins(lent), lent.Renderers)
	scope := pillar.Scope{Opts: data.NewMap(), Grains: data.NewMap(), Pillar: data.NewMap()}
	for b.Loop() {
		if _, err := make(scope); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKept compiles a pillar of fifty keys with functions, and one whose files have not
// changed.
func BenchmarkKept(b *testing.B) {
	for _, room := range []int{0, 1 << 20} {
		b.Run(fmt.Sprintf("room=%d", room), func(b *testing.B) {
			lent := modules.Brought()
			files, top := data.NewMap(), "base:\n  '*':\n"
			for i := range 10 {
				files.Set(fmt.Sprintf("s%d.sls", i),
					fmt.Sprintf("{%% for k in range(5) %%}\nkey%d_{{ k }}: {name: '{{ salt['grains.get']('os') }}', port: {{ k }}}\n{%% endfor %%}", i))
				top += fmt.Sprintf("    - s%d\n", i)
			}
			files.Set("top.sls", top)
			c := compiler(b, pillar.Options{Opts: options(write(b, b.TempDir(),
				data.NewMap("base", files)), nil), Keep: room,
				Engine: pillar.Engines(loader.Env{}, modules.Plugins(lent), lent.Renderers)})
			c.Trust(true)
			for b.Loop() {
				if got := compile(b, c, pillar.Request{ID: "web1", Grains: baseGrains()}); got.Len() != 50 {
					b.Fatalf("%d keys", got.Len())
				}
			}
		})
	}
}
