//go:build unix

package file_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestDirectoryReportsTheLastMode checks the mode next to the paths in the changes: that of the
// last changed file or directory. The files of a directory come before its subdirectories. The
// results are those of Salt 3006.18.
func TestDirectoryReportsTheLastMode(t *testing.T) {
	for _, tt := range []struct {
		name, files string
		words       []any
		mode        any
		paths       string
	}{
		{"directories behind files", "x a/.keep", []any{"dir_mode", "750", "file_mode", "644"},
			"0750", "a ."},
		{"files alone", "x a/y", []any{"dir_mode", "755", "file_mode", "640"}, "0640", "x a/y"},
		{"a file in the last directory", "x a/y", []any{"dir_mode", "750", "file_mode", "640"},
			"0640", "x a a/y ."},
		{"a file of the top comes first", "z a/", []any{"dir_mode", "750", "file_mode", "640"},
			"0750", "z a ."},
		{"no files", "x a/y", []any{"dir_mode", "750", "file_mode", "640",
			"recurse", []any{"mode", "ignore_files"}}, "0750", "a ."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			for name := range strings.FieldsSeq(tt.files) {
				if strings.HasSuffix(name, "/") {
					h.run("directory", false, "name", h.at("top/"+name), "makedirs", true, "dir_mode", "755")
				} else {
					h.write("top/"+name, "")
				}
			}
			words := append([]any{"name", h.at("top"), "recurse", []any{"mode"}}, tt.words...)
			changes := h.run("directory", false, words...).Value("changes").(*data.Map)
			if changes.Value("mode") != tt.mode {
				t.Errorf("mode %v, want %v: %s", changes.Value("mode"), tt.mode, data.Repr(changes))
			}
			var paths []string
			for path := range changes.All() {
				if rel, ok := strings.CutPrefix(data.Str(path), h.at("top")); ok {
					paths = append(paths, cmp.Or(strings.TrimPrefix(rel, "/"), "."))
				}
			}
			if got := strings.Join(paths, " "); got != tt.paths {
				t.Errorf("paths %s, want %s", got, tt.paths)
			}
			if ret := h.run("directory", false, words...); ret.Value("result") != true ||
				data.Truth(ret.Value("changes")) {
				t.Errorf("again: %s", data.Repr(ret))
			}
		})
	}
}
