//go:build unix

package file

import (
	"context"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
)

type diffArgs struct {
	File1           any
	File2           any
	Saltenv         any  `default:"'base'"`
	ShowFilenames   bool `default:"True"`
	ShowChanges     bool `default:"True"`
	Template        bool `default:"False"`
	SourceHashFile1 any  `name:"source_hash_file1" default:"None"`
	SourceHashFile2 any  `name:"source_hash_file2" default:"None"`
}

// getDiff returns the unified diff of two files, which may be paths or URLs; an empty text where they are equal.
//
// show_filenames : True
//
//	Name the files in the first two lines.
//
// show_changes : True
//
//	With False a difference is told, but not which.
//
// template : False
//
//	They are what templates became, which the option obfuscate_templates hides.
//
// source_hash_file1, source_hash_file2 : None
//
//	Hashes of files from web servers: a copy in the cache that has them is good enough.
//
// CLI Example:
//
//	salt '*' file.get_diff /home/fred/.vimrc salt://users/fred/.vimrc
func (m *module) getDiff(ctx context.Context, a diffArgs) (any, error) {
	var paths []string
	var missing []any
	for i, file := range []any{a.File1, a.File2} {
		hash := []any{a.SourceHashFile1, a.SourceHashFile2}[i]
		v, err := m.env.Call(ctx, "cp.cache_file", []any{file, a.Saltenv}, data.NewMap("source_hash", hash))
		switch {
		case err != nil:
			missing = append(missing, err.Error())
		case v == false:
			missing = append(missing, "File "+data.Str(file)+" not found")
		default:
			paths = append(paths, data.Str(v))
		}
	}
	if len(missing) > 0 {
		return nil, loader.ExecutionInfo("Failed to cache one or more files", missing)
	}
	return m.diff(paths[0], paths[1], a)
}

func (m *module) diff(old, new string, a diffArgs) (string, error) {
	before, err := readForDiff(old)
	if err != nil {
		return "", err
	}
	after, err := readForDiff(new)
	if err != nil || slices.Equal(before, after) {
		return "", err
	}
	switch {
	case a.Template && m.obfuscates():
		return "<Obfuscated Template>", nil
	case !a.ShowChanges:
		return "<show_changes=False>", nil
	}
	if text := binaryDiff(isText(old), isText(new)); text != "" {
		return text, nil
	}
	from, to := "", ""
	if a.ShowFilenames {
		from, to = old, new
	}
	return strings.Join(difflib.Unified(decoded(before), decoded(after), from, to, "\n"), ""), nil
}

// readForDiff returns the lines of a file.
func readForDiff(path string) ([]string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.Execution("Failed to read %s: %s", path, reason(err))
	}
	return slices.Collect(strings.Lines(string(body))), nil
}

// binaryDiff is the diff of files of which not both are text, else "".
func binaryDiff(oldText, newText bool) string {
	switch {
	case oldText && newText:
		return ""
	case oldText:
		return "Replace text file with binary file"
	case newText:
		return "Replace binary file with text file"
	}
	return "Replace binary file"
}

// decoded returns lines as text: those that are no UTF-8 are taken for Latin-1.
func decoded(lines []string) []string {
	out := slices.Clone(lines)
	for i, line := range out {
		if utf8.ValidString(line) {
			continue
		}
		runes := make([]rune, len(line))
		for j := range len(line) {
			runes[j] = rune(line[j])
		}
		out[i] = string(runes)
	}
	return out
}

func (m *module) obfuscates() bool { return data.Truth(m.env.Option("obfuscate_templates")) }
