package rpm

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// verify returns how the files of the given packages, or of all, differ from their state at
// installation.
//
// ignore_types
//
//	Kinds of files to leave out: config, doc, ghost, license, readme. A list, or a text
//	separated by commas.
//
// verify_options
//
//	Options of rpm without the two minus signs, such as nodigest.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.verify httpd ignore_types='[config,doc]'
func (m *module) verify(ctx context.Context, a packagesArgs) (any, error) {
	ignore, err := wordsOf(a.Kwargs, "ignore_types")
	if err != nil {
		return nil, err
	}
	options, err := wordsOf(a.Kwargs, "verify_options")
	if err != nil {
		return nil, err
	}
	if err := packages.Names(a.Packages...); err != nil {
		return nil, err
	}
	var args []any
	for _, o := range options {
		args = append(args, "--"+o)
	}
	if len(a.Packages) > 0 {
		args = append(append(args, "-V"), a.Packages...)
	} else {
		args = append(args, "-Va")
	}
	out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), args...)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(out.Stdout) == "" && out.Retcode != 0 && out.Stderr != "":
		return nil, loader.Execution("Failed to verify package(s): %s", out.Stderr)
	case strings.TrimSpace(out.Stdout) == "" && out.Retcode != 0:
		return nil, loader.Execution("Failed to verify package(s)")
	}
	return verified(out.Stdout, ignore), nil
}

// wordsOf returns an argument that is a list or a text separated by commas.
func wordsOf(kwargs *data.Map, name string) ([]string, error) {
	v, ok := kwargs.Get(name)
	if !ok {
		return nil, nil
	}
	var words []string
	switch v := v.(type) {
	case []any:
		for _, w := range v {
			words = append(words, data.Str(w))
		}
	case string:
		for w := range strings.SplitSeq(v, ",") {
			words = append(words, strings.TrimSpace(w))
		}
	default:
		return nil, loader.Invocation("%s must be a list or a comma-separated string", name)
	}
	return words, nil
}

// flags describes the columns of rpm -V's output, with the letter in each that marks a difference.
func flags() []struct {
	letter byte
	name   string
} {
	return []struct {
		letter byte
		name   string
	}{{'S', "size"}, {'M', "mode"}, {'5', "md5sum"}, {'D', "device major/minor number"},
		{'L', "readlink path"}, {'U', "user"}, {'G', "group"},
		{'T', "mtime"}, {'P', "capabilities"}}
}

// verified parses the output of rpm -V: a column for each attribute, the kind of file in column 12
// and its path from column 14 on.
func verified(text string, ignore []string) *data.Map {
	files := &data.Map{}
	for _, line := range lines(text) {
		missing := strings.Contains(line, "missing")
		if missing {
			line = " " + line
		}
		if len(line) < 13 {
			continue
		}
		file := data.NewMap("mismatch", []any{})
		if missing {
			file = data.NewMap("missing", true)
		}
		kind := kindOf(line[11])
		if kind != "" {
			file.Set("type", kind)
		}
		if kind != "" && has(ignore, kind) {
			continue
		}
		if !missing {
			file.Set("mismatch", mismatches(line))
		}
		files.Set(line[13:], file)
	}
	return files
}

func has(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

func kindOf(letter byte) string {
	switch letter {
	case 'c':
		return "config"
	case 'd':
		return "doc"
	case 'g':
		return "ghost"
	case 'l':
		return "license"
	case 'r':
		return "readme"
	}
	return ""
}

func mismatches(line string) []any {
	found := []any{}
	for i, f := range flags() {
		if line[i] == f.letter {
			found = append(found, f.name)
		}
	}
	return found
}

// modified returns the files of the given packages, or of all, that differ from their state at
// installation, and their differences. Boolean arguments filter by difference: True returns only
// files with it, False only files without it. They are size, mode, checksum, device, symlink,
// owner, group, time, capabilities, config.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.modified httpd size=True
func (m *module) modified(ctx context.Context, a packagesArgs) (any, error) {
	if err := packages.Names(a.Packages...); err != nil {
		return nil, err
	}
	out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), append([]any{"-Va"}, a.Packages...)...)
	switch {
	case err != nil:
		return nil, err
	case out.Retcode > 1:
		all := out.Map.Clone()
		all.Delete("stdout")
		return all, nil
	case out.Retcode == 0:
		return &data.Map{}, nil
	}
	all := differing(out.Stdout)
	for file, stats := range all.Clone().All() {
		if !chosen(stats.([]any), a.Kwargs) {
			all.Delete(file)
		}
	}
	return all, nil
}

// differing parses the output of rpm -Va into lists of differences.
func differing(text string) *data.Map {
	names := []string{"size", "mode", "checksum", "device", "symlink", "owner", "group", "time",
		"capabilities"}
	files := &data.Map{}
	for _, line := range lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		stats := []any{}
		for i, name := range names {
			if i < len(f[0]) && f[0][i] != '.' {
				stats = append(stats, name)
			}
		}
		path := f[1]
		if len(f) > 2 && len(f[1]) == 1 {
			stats, path = append(stats, "config"), f[2]
		}
		files.Set(path, stats)
	}
	return files
}

// chosen reports whether the arguments select a file with these differences.
func chosen(stats []any, kwargs *data.Map) bool {
	for k, wanted := range kwargs.All() {
		name := data.Str(k)
		if strings.HasPrefix(name, "_") || name == "root" {
			continue
		}
		differs := false
		for _, s := range stats {
			differs = differs || s == name
		}
		if data.Truth(wanted) != differs {
			return false
		}
	}
	return true
}
