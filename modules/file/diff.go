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
	"github.com/brineproject/brine/modules/calls"
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

// getDiff returns the unified diff of two files, given as paths or URLs. The result is empty if
// they are equal.
//
// show_filenames : True
//
//	Name the files in the first two lines.
//
// show_changes : True
//
//	If False, report only that there is a difference.
//
// template : False
//
//	The files are rendered templates; the option obfuscate_templates hides their diff.
//
// source_hash_file1, source_hash_file2 : None
//
//	Hashes of files from web servers. A cached copy with this hash is used.
//
// CLI Example:
//
//	salt '*' file.get_diff /home/fred/.vimrc salt://users/fred/.vimrc
func (m diffs) getDiff(ctx context.Context, a diffArgs) (any, error) {
	var paths []string
	var missing []any
	for i, file := range []any{a.File1, a.File2} {
		hash := []any{a.SourceHashFile1, a.SourceHashFile2}[i]
		path, err := calls.CacheFile(ctx, m.env, calls.Source{
			Path: file, SaltEnv: a.Saltenv, Hash: hash,
		})
		switch {
		case err != nil:
			missing = append(missing, err.Error())
		case path == "":
			missing = append(missing, "File "+data.Str(file)+" not found")
		default:
			paths = append(paths, path)
		}
	}
	if len(missing) > 0 {
		return nil, loader.ExecutionInfo("Failed to cache one or more files", missing)
	}
	return m.files(paths[0], paths[1], a)
}

func (m diffs) files(old, new string, a diffArgs) (string, error) {
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

// binaryDiff returns the diff text if one of the files is binary, or "".
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

// decoded returns lines as text. Lines that are not UTF-8 are read as Latin-1.
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

func (m diffs) obfuscates() bool { return data.Truth(m.env.Option("obfuscate_templates")) }
