package pillar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// BenchmarkCompile compiles pillars of several sizes, spread over ten SLS; renderers are shared, as
// in a daemon.
func BenchmarkCompile(b *testing.B) {
	for _, keys := range []int{50, 1000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) { benchmarkCompile(b, keys) })
	}
}

func benchmarkCompile(b *testing.B, keys int) {
	files, top := data.NewMap(), "base:\n  '*':\n"
	for i := range 10 {
		var text strings.Builder
		for k := range keys / 10 {
			fmt.Fprintf(&text, "key%d_%d: {name: '{{ grains.os }}', port: %d}\n", i, k, k)
		}
		files.Set(fmt.Sprintf("s%d.sls", i), text.String())
		top += fmt.Sprintf("    - s%d\n", i)
	}
	files.Set("top.sls", top)
	renderers := stdrender.Renderers()
	o := pillar.Options{Opts: options(write(b, b.TempDir(), data.NewMap("base", files)), nil)}
	o.Engine = func(s pillar.Scope) (*render.Engine, error) {
		env := &loader.Env{Opts: s.Opts, Grains: func() *data.Map { return s.Grains },
			Pillar: func() *data.Map { return s.Pillar }}
		return render.New(render.Options{Env: env, Files: s.Files, Renderers: renderers})
	}
	c := compiler(b, o)
	for b.Loop() {
		if got := compile(b, c, pillar.Request{ID: "web1", Grains: baseGrains()}); got.Len() != keys {
			b.Fatalf("%d keys, want %d", got.Len(), keys)
		}
	}
}
