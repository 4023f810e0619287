package file

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

type replaceArgs struct {
	Path             string
	Pattern          string
	Repl             any
	Count            int  `default:"0"`
	Flags            any  `default:"8"`
	Bufsize          any  `default:"1"`
	AppendIfNotFound bool `default:"False"`

	PrependIfNotFound bool `default:"False"`
	NotFoundContent   any  `default:"None"`
	Backup            any  `default:"'.bak'"`
	DryRun            bool `default:"False"`
	SearchOnly        bool `default:"False"`
	ShowChanges       bool `default:"True"`
	IgnoreIfMissing   bool `default:"False"`
	PreserveInode     bool `default:"True"`
	BackslashLiteral  bool `default:"False"`
}

// replace replaces matches of a regular expression in a file and returns the diff.
//
// repl
//
//	The replacement; \1 stands for a group.
//
// count : 0
//
//	The maximum number of matches to replace; 0 means all.
//
// flags : 8
//
//	Flags of the expression: a number, or names such as IGNORECASE. 8 is MULTILINE.
//
// append_if_not_found, prepend_if_not_found : False
//
//	If nothing matches, add a line at the end or beginning: not_found_content, or else repl.
//
// backup : .bak
//
//	The suffix for a copy of the old file; False makes no copy.
//
// dry_run, search_only : False
//
//	Change nothing; search_only only reports whether something matches.
//
// show_changes : True
//
//	Return the diff instead of whether there is one.
//
// ignore_if_missing : False
//
//	Return False if the file does not exist.
//
// preserve_inode : True
//
//	Write a file with several names in place, so that the names still share one file.
//
// backslash_literal : False
//
//	Take a backslash in repl literally.
//
// CLI Example:
//
//	salt '*' file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'
func replace(_ context.Context, a replaceArgs) (any, error) {
	given := home(a.Path)
	path := where(a.Path)
	switch {
	case !paths.Exists(path) && a.IgnoreIfMissing:
		return false, nil
	case !paths.Exists(path):
		return nil, loader.Invocation("File not found: %s", path)
	case !isText(path):
		return nil, loader.Invocation("Cannot perform string replacements on a binary file: %s",
			path)
	case a.SearchOnly && (a.AppendIfNotFound || a.PrependIfNotFound):
		return nil, loader.Invocation("search_only cannot be used with append/prepend_if_not_found")
	case a.AppendIfNotFound && a.PrependIfNotFound:
		return nil, loader.Invocation("Only one of append and prepend_if_not_found is permitted")
	}
	flags, err := flagsOf(a.Flags)
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.Execution("Unable to open file '%s'. Exception: %w", path, osError(err))
	}
	text := string(body)
	if a.SearchOnly {
		found, err := searcher(a.Pattern, flags)
		if err != nil {
			return nil, err
		}
		return found(text)
	}
	result, err := a.result(text, flags)
	if err != nil {
		return nil, err
	}
	if result != text && !a.DryRun {
		if err := edit(path, given, result, a.Backup, a.PreserveInode); err != nil {
			return nil, err
		}
	}
	diff := difflib.Text(decoded(difflib.ByteLines(text)), decoded(difflib.ByteLines(result)))
	if a.ShowChanges {
		return diff, nil
	}
	return diff != "", nil
}

// result returns the new text.
func (a replaceArgs) result(text string, flags int64) (string, error) {
	re, err := compiled(a.Pattern, flags)
	if err != nil {
		return "", reError(err)
	}
	repl := data.Str(a.Repl)
	parts := []part{{repl, -1}}
	if !a.BackslashLiteral {
		if parts, err = replacement(repl, re); err != nil {
			return "", err
		}
	}
	result, n, err := substituted(re, text, parts, a.Count)
	if err != nil {
		return "", reError(err)
	}
	content := repl
	if data.Truth(a.NotFoundContent) {
		content = data.Str(a.NotFoundContent)
	}
	if !a.AppendIfNotFound && !a.PrependIfNotFound || n > 0 || hasLine(text, content, flags) {
		return result, nil
	}
	if a.NotFoundContent != nil {
		content = data.Str(a.NotFoundContent)
	}
	switch {
	case a.PrependIfNotFound:
		return content + paths.LineEnd + result, nil
	case result != "" && !strings.HasSuffix(result, paths.LineEnd):
		result += paths.LineEnd
	}
	return result + content + paths.LineEnd, nil
}

// hasLine reports whether a text contains a content as whole lines, by the flags of Python's re.
func hasLine(text, content string, flags int64) bool {
	if flags&reIgnoreCase != 0 {
		text, content = strings.ToLower(text), strings.ToLower(content)
	}
	lines := flags&reMultiline != 0
	for from := 0; from <= len(text); {
		i := strings.Index(text[from:], content)
		if i < 0 {
			return false
		}
		i += from
		rest := text[i+len(content):]
		begins := i == 0 || lines && text[i-1] == '\n'
		if begins && (rest == "" || rest == "\n" || lines && rest[0] == '\n' ||
			strings.HasPrefix(rest, "\r\n")) {
			return true
		}
		from = i + 1
	}
	return false
}

// edit replaces the text of an existing file, and keeps a copy beside it if backup is set.
func edit(path, given, text string, backup any, inode bool) error {
	if data.Truth(backup) {
		if err := copyBeside(path, given, data.Str(backup)); err != nil {
			return loader.Execution("Unable to make the backup file '%s'. Exception: %w",
				path+data.Str(backup),
				osError(err))
		}
	}
	err := rewrite(path, text, inode)
	if err != nil {
		return loader.Execution("Exception: %w", osError(err))
	}
	return nil
}

// rewrite replaces the content of a file by renaming a new file over it. With inode, a file with
// several names is written in place, so that it keeps them. It is renamed all the same if another
// user could have planted the name as a hard link to a file that is not theirs.
func rewrite(path, text string, inode bool) error {
	m, err := metaOf(path, true)
	if err != nil {
		return err
	}
	if !inode || m.links < 2 || othersMayPlant(path) {
		return place(path, placing{}, bytesOf([]byte(text)))
	}
	return writeThrough(path, bytesOf([]byte(text)))
}

// copyBeside copies a file to its path plus an ending. If given is a link, a link to the copy is
// made beside it.
func copyBeside(path, given, ending string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	keep := func(f *os.File) error { return keepAs(f, path, info) }
	if err := atomicfile.Fill(path+ending, atomicfile.Options{Own: keep},
		copyOf(path)); err != nil {
		return err
	}
	if err := os.Chtimes(path+ending, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	to, err := os.Readlink(given)
	if err != nil {
		return nil //nolint:nilerr // given is not a link
	}
	return relink(to+ending, given+ending, true)
}

type commentArgs struct {
	Path   string
	Regex  string
	Char   string `default:"'#'"`
	Backup any    `default:"'.bak'"`
}

// comment comments out the lines that a regular expression matches and returns their diff, or False
// if there are none.
//
// CLI Example:
//
//	salt '*' file.comment /etc/modules pcspkr
func comment(ctx context.Context, a commentArgs) (any, error) {
	return commentLine(ctx, commentLineArgs{a.Path, a.Regex, a.Char, true, a.Backup})
}

// uncomment removes the comment character from lines that a regular expression matches and returns
// their diff, or False if there are none.
//
// CLI Example:
//
//	salt '*' file.uncomment /etc/hosts.deny 'ALL: PARANOID'
func uncomment(ctx context.Context, a commentArgs) (any, error) {
	return commentLine(ctx, commentLineArgs{a.Path, a.Regex, a.Char, false, a.Backup})
}

type commentLineArgs struct {
	Path   string
	Regex  string
	Char   string `default:"'#'"`
	Cmnt   bool   `default:"True"`
	Backup any    `default:"'.bak'"`
}

// commentLine is file.comment, or file.uncomment with cmnt=False.
//
// CLI Example:
//
//	salt '*' file.comment_line /etc/modules pcspkr cmnt=True
func commentLine(_ context.Context, a commentLineArgs) (any, error) {
	re, err := match.CompileRegexp(a.expr())
	if err != nil {
		return nil, reError(err)
	}
	path := where(a.Path)
	switch {
	case !paths.IsFile(path):
		return nil, loader.Invocation("File not found: %s", path)
	case !isText(path):
		return nil, loader.Invocation("Cannot perform string replacements on a binary file: %s",
			path)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.Execution("Unable to open file '%s'. Exception: %w", path, osError(err))
	}
	var old, now []string
	lines := slices.Collect(strings.Lines(string(body)))
	for i, line := range lines {
		if !re.Match(line) {
			continue
		}
		if a.Cmnt {
			lines[i] = a.Char + line
		} else {
			lines[i] = strings.TrimLeft(line, a.Char)
		}
		old, now = append(old, line), append(now, lines[i])
	}
	if len(old) == 0 {
		return false, nil
	}
	if text := strings.Join(lines, ""); text != string(body) || data.Truth(a.Backup) {
		if err := edit(path, path, text, a.Backup, true); err != nil {
			return nil, err
		}
	}
	return difflib.Text(old, now), nil
}

// expr returns the expression for the lines to change.
func (a commentLineArgs) expr() string {
	begin, end := "", ""
	if strings.HasPrefix(a.Regex, "^") {
		begin = "^"
	}
	if strings.HasSuffix(a.Regex, "$") {
		end = "$"
	}
	middle := "(" + strings.TrimRight(strings.TrimLeft(a.Regex, "^"), "$") + ")"
	if a.Cmnt {
		return begin + middle + end
	}
	return "^" + a.Char + `\s*` + middle + end
}

type psedArgs struct {
	Path      string
	Before    any
	After     any
	Limit     string `default:"''"`
	Backup    any    `default:"'.bak'"`
	Flags     string `default:"'gMS'"`
	EscapeAll bool   `default:"False"`
	Multi     any    `default:"False"`
}

// psed replaces matches of a Python regular expression in a file. It exists for compatibility;
// file.replace does more.
//
// flags : gMS
//
//	g replaces all matches; I, L, M, S, U and X are flags of the expression.
//
// multi : False
//
//	Apply the expression to each line separately.
//
// A limit is an error, like in Salt, but nothing is written.
//
// CLI Example:
//
//	salt '*' file.psed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
func psed(_ context.Context, a psedArgs) (any, error) {
	path := home(a.Path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, osError(err)
	}
	if a.Limit != "" {
		return nil, loader.TypeError("must be str or None, not re.Pattern")
	}
	text, err := readAll(path)
	if err != nil {
		return nil, err
	}
	result, err := a.result(text)
	if err != nil {
		return nil, err
	}
	if err := copyBeside(path, path, data.Str(a.Backup)); err != nil {
		return nil, osError(err)
	}
	return nil, osError(place(path, placing{mode: info.Mode()}, bytesOf([]byte(result))))
}

func (a psedArgs) result(text string) (string, error) {
	once := 1
	var flags int64
	for _, letter := range a.Flags {
		if letter == 'g' {
			once = 0
			continue
		}
		flag, err := flagsOf(string(letter))
		if err != nil {
			return "", loader.Exception("KeyError", "%s", data.Repr(string(letter)))
		}
		flags |= flag
	}
	s, err := newSubstitution(sedEscape(data.Str(a.Before), a.EscapeAll), data.Str(a.After), flags)
	if err != nil {
		return "", err
	}
	if !data.Truth(a.Multi) {
		return s.in(text, once)
	}
	var all strings.Builder
	for line := range strings.Lines(text) {
		result, err := s.in(line, once)
		if err != nil {
			return "", err
		}
		all.WriteString(result)
	}
	return all.String(), nil
}
