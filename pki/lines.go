package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// maxRules limits the size of a rules file, in bytes; it allows about a million lines.
const maxRules = 32 << 20

// A signingFile is a parsed autosign_file or autoreject_file with one rule per line.
type signingFile struct {
	info     fs.FileInfo
	exact    map[string]bool  // all lines
	plain    []string         // lines whose only operator is the dot
	patterns []*regexp.Regexp // globs and regular expressions
	problems error            // errors of invalid lines
}

// readSigningFile returns the rules of a file, or old if the file has not changed. A missing file
// has no rules. strict is for accepting rules: a regular expression must then match the whole id.
func readSigningFile(path string, old *signingFile, permissive, strict bool) (*signingFile, error) {
	if path == "" {
		return &signingFile{}, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &signingFile{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := checkMode(info, permissive); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if old != nil && old.info != nil && sameFile(old.info, info) &&
		time.Since(info.ModTime()) > settled {
		return old, nil
	}
	text, err := readRules(path, info)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := parseSigningFile(text, strict)
	f.info = info
	if f.problems != nil {
		f.problems = fmt.Errorf("%s: %w", path, f.problems)
	}
	return f, nil
}

func readRules(path string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, ErrNotFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, maxRules)
}

// checkMode rejects rules files that users other than the owner could have written
// (salt/daemons/masterapi.py: AutoKey.check_permissions). It does nothing on Windows, which has no
// such modes.
func checkMode(info fs.FileInfo, permissive bool) error {
	mode := info.Mode().Perm()
	if runtime.GOOS == "windows" {
		return nil
	}
	if mode&0o002 != 0 || mode&0o020 != 0 && !permissive {
		return fmt.Errorf("mode %#o: %w", mode, ErrPermissions)
	}
	return nil
}

func parseSigningFile(text []byte, strict bool) *signingFile {
	f := &signingFile{exact: map[string]bool{}}
	var problems []error
	for _, line := range rules(text) {
		f.exact[line] = true
		if isPlain(line) {
			f.plain = append(f.plain, line)
			continue
		}
		patterns, err := compileLine(line, strict)
		f.patterns = append(f.patterns, patterns...)
		problems = append(problems, err)
	}
	f.problems = errors.Join(problems...)
	return f
}

// rules returns the lines that are neither blank nor comments. Lines that are not UTF-8 match no
// id.
func rules(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && utf8.ValidString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// isPlain reports whether the dot is the only regular expression operator in line.
func isPlain(line string) bool {
	return !strings.ContainsAny(line, `*?[]\+^$|(){}`)
}

// compileLine returns the patterns of a line: as a glob and, if valid, as a regular expression.
func compileLine(line string, strict bool) ([]*regexp.Regexp, error) {
	var patterns []*regexp.Regexp
	if glob, err := compileGlob(line); err == nil {
		patterns = append(patterns, glob)
	}
	wrapped := `\A` + line + `\z`
	if strict {
		wrapped = `\A(?:` + line + `)\z`
	}
	re, err := regexp.Compile(line)
	if err == nil { // compiled alone, so that a bracket in it cannot close ours
		re, err = regexp.Compile(wrapped)
	}
	if err == nil {
		return append(patterns, re), nil
	}
	return patterns, unsupported(line, err)
}

// unsupported returns an error for lines that are valid regular expressions in Python but not here.
// Most lines that do not compile are globs.
func unsupported(line string, err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return nil
	}
	backreference := bad.Code == syntax.ErrInvalidEscape &&
		strings.ContainsAny(bad.Expr, "123456789")
	if bad.Code == syntax.ErrInvalidPerlOp || backreference {
		return fmt.Errorf("rule %q: %w (look-around and back references are not known here)", line,
			err)
	}
	return nil
}

// matches reports whether a rule matches id.
func (f *signingFile) matches(id string) bool {
	if f.exact[id] {
		return true
	}
	match := dotMatch
	if isASCII(id) {
		match = dotMatchASCII
	}
	for _, line := range f.plain {
		if match(line, id) {
			return true
		}
	}
	for _, re := range f.patterns {
		if re.MatchString(id) {
			return true
		}
	}
	return false
}

// dotMatch reports whether line, a regular expression without operators other than the dot, matches
// the whole id. It is much faster than package regexp, and most rules are such lines.
func dotMatch(line, id string) bool {
	i := 0
	for _, r := range id {
		size := len(string(r))
		switch {
		case i < len(line) && line[i] == '.':
			i++
		case i+size <= len(line) && line[i:i+size] == string(r):
			i += size
		default:
			return false
		}
	}
	return i == len(line)
}

// dotMatchASCII is dotMatch for ASCII ids.
func dotMatchASCII(line, id string) bool {
	if len(line) != len(id) {
		return false
	}
	for i := len(id) - 1; i >= 0; i-- {
		if line[i] != id[i] && line[i] != '.' {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
