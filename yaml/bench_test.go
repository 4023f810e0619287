package yaml

import (
	"strings"
	"testing"
)

func BenchmarkLoad(b *testing.B) {
	const state = "/etc/app-N.conf:\n  file.managed:\n    - source: salt://app/files/app.conf\n    - mode: 0644\n    - user: root\n    - require:\n      - pkg: app\n"
	var src strings.Builder
	for i := range 1000 {
		src.WriteString(strings.Replace(state,
			"N", strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26), 1))
	}
	text := []byte(src.String())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Load(text, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDump(b *testing.B) {
	v, err := Load([]byte(strings.Repeat("- {name: nginx, version: 1.22.1-9, enabled: true, ports: [80, 443], text: 'a: b'}\n", 1000)), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Dump(v, DumpOptions{Copies: true}); err != nil {
			b.Fatal(err)
		}
	}
}
