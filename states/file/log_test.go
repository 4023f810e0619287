//go:build unix

package file_test

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// TestUnusedSourceHash checks the warning of Salt 3006.18 for a source_hash with a local source.
func TestUnusedSourceHash(t *testing.T) {
	const (
		warning = "source_hash is only used with 'http', 'https' or 'ftp'"
		hash    = "sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	)
	for _, tt := range []struct {
		fun   string
		words []any
		want  int
	}{
		{"managed", []any{"source", "salt://t.conf", "source_hash", hash}, 1},
		{"managed", []any{"source", []any{"salt://t.conf"}, "source_hash", hash}, 1},
		{"managed", []any{"source", "salt://t.conf"}, 0},
		{"managed", []any{"contents", "x", "source_hash", hash}, 0},
		{"managed", []any{"source", []any{"HTTP://127.0.0.1:1/x", "salt://t.conf"}, "source_hash", hash}, 0},
		{"append", []any{"source", "salt://plain", "source_hash", hash}, 1},
		{"prepend", []any{"source", "salt://plain", "source_hash", hash}, 1},
		{"blockreplace", []any{"source", "salt://plain", "source_hash", hash,
			"append_if_not_found", true}, 1},
	} {
		for _, test := range []bool{true, false, false} {
			h := newHost(t)
			h.write("f", "")
			h.write("srv/plain", "text\n")
			h.run(tt.fun, test, append([]any{"name", h.at("f")}, tt.words...)...)
			got := 0
			for _, entry := range h.log.AllEntries() {
				if entry.Message == warning && entry.Level.String() == "warning" {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("file.%s %s: %d warnings, want %d", tt.fun, data.Repr(tt.words), got, tt.want)
			}
		}
	}
}
