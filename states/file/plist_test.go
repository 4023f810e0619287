package file_test

import (
	"os"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/serializers/plist"
)

// TestSerializePlist writes property lists in both formats, new ones and merged ones. The files are
// those of Salt 3006.18.
func TestSerializePlist(t *testing.T) {
	const xml = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>b</key>
	<dict>
		<key>c</key>
		<integer>2</integer>
		<key>d</key>
		<date>2026-01-02T03:04:05Z</date>
	</dict>
	<key>n</key>
	<integer>7</integer>
	<key>x</key>
	<data>
	ZGF0YQ==
	</data>
</dict>
</plist>
`
	const binary = "bplist00\xd3\x01\x02\x03\x04\x09\x0aQbQnQx\xd2\x05\x06\x07\x08QcQd\x10\x02\x33\x41\xc7\x83\xb6\x92\x80\x00\x00\x10\x07\x44data" +
		"\x08\x0f\x11\x13\x15\x1a\x1c\x1e\x20\x29\x2b\x00\x00\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x30"
	before := data.NewMap("b", data.NewMap("c", int64(1),
		"d", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), "x", []byte("data"))
	for name, want := range map[string]string{"xml": xml, "binary": binary} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			text, err := plist.Write(before, plist.Options{Binary: name == "binary"})
			if err != nil {
				t.Fatal(err)
			}
			h.write("p", string(text))
			args := []any{"name", h.at("p"),
				"dataset", data.NewMap("b", data.NewMap("c", int64(2)), "n", int64(7)),
				"serializer", "plist", "merge_if_exists", true}
			if name == "binary" {
				args = append(args, "serializer_opts", []any{data.NewMap("fmt", "FMT_BINARY")})
			}
			for _, step := range []struct {
				test, changes bool
				result        any
				body          string
			}{{true, true, nil, string(text)}, {false, true, true, want},
				{false, false, true, want}, {true, false, true, want}} {
				ret := h.run("serialize", step.test, args...)
				if ret.Value("result") != step.result || data.Truth(ret.Value("changes")) != step.changes {
					t.Errorf("test=%v: %s", step.test, data.Repr(ret))
				}
				if body, err := os.ReadFile(h.at("p")); string(body) != step.body {
					t.Errorf("test=%v: the file is %q, %v; want %q", step.test, body, err, step.body)
				}
			}
		})
	}
	h := newHost(t)
	h.write("p", "x")
	ret := h.run("serialize", false, "name", h.at("p"), "dataset", data.NewMap("a", int64(1)),
		"serializer", "plist", "merge_if_exists", true)
	if want := "Failed to deserialize existing data: Invalid file"; ret.Value("result") != false ||
		ret.Text("comment") != want {
		t.Errorf("got %s, want %s", data.Repr(ret), want)
	}
}
