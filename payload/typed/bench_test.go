package typed_test

import (
	"testing"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

func BenchmarkMessage(b *testing.B) {
	m := message{Cmd: "_return", Blob: make([]byte, 200), N: 7}
	b.ReportAllocs()
	for b.Loop() {
		src, err := typed.Marshal(&m)
		if err != nil {
			b.Fatal(err)
		}
		var back message
		if err := typed.Unmarshal(src, payload.WireLimits(), &back); err != nil {
			b.Fatal(err)
		}
	}
}
