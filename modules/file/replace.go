//go:build unix

package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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

// replace replaces what a regular expression matches in a file, and returns the diff.
//
// repl
//
//	The text instead; \1 stands for a group.
//
// count : 0
//
//	The most matches to replace; 0 is all.
//
// flags : 8
//
//	Flags of the expression: a number or names as IGNORECASE; 8 is MULTILINE.
//
// append_if_not_found, prepend_if_not_found : False
//
//	Put a line at the end or the beginning where nothing matches: not_found_content, or repl.
//
// backup : .bak
//
//	What the name of a copy of the old file ends in; False makes none.
//
// dry_run, search_only : False
//
//	Change nothing; tell only whether something matches.
//
// show_changes : True
//
//	Return the diff, and not whether there is one.
//
// ignore_if_missing : False
//
//	Return False where there is no file.
//
// preserve_inode : True
//
//	Write a file that has several names as it stands, so that they stay one file.
//
// backslash_literal : False
//
//	A backslash in repl is one.
//
// CLI Example:
//
//	salt '*' file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'
func (m *module) replace(_ context.Context, a replaceArgs) (any, error) {
	given := home(a.Path)
	path := where(a.Path)
	switch {
	case !paths.Exists(path) && a.IgnoreIfMissing:
		return false, nil
	case !paths.Exists(path):
		return nil, loader.Invocation("File not found: %s", path)
	case !isText(path):
		return nil, loader.Invocation("Cannot perform string replacements on a binary file: %s", path)
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
		if err := m.edit(path, given, result, a.Backup, a.PreserveInode); err != nil {
			return nil, err
		}
	}
	diff := difflib.Text(decoded(difflib.ByteLines(text)), decoded(difflib.ByteLines(result)))
	if a.ShowChanges {
		return diff, nil
	}
	return diff != "", nil
}

// result returns the text as it is to be.
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
		return content + "\n" + result, nil
	case result != "" && !strings.HasSuffix(result, "\n"):
		result += "\n"
	}
	return result + content + "\n", nil
}

// hasLine reports whether a content stands in a text as lines of its own, as flags of Python's re see lines.
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
		if begins && (rest == "" || rest == "\n" || lines && rest[0] == '\n' || strings.HasPrefix(rest, "\r\n")) {
			return true
		}
		from = i + 1
	}
	return false
}

// edit gives a file that is there another text, with a copy of what it was beside it.
func (m *module) edit(path, given, text string, backup any, inode bool) error {
	if data.Truth(backup) {
		if err := copyBeside(path, given, data.Str(backup)); err != nil {
			return loader.Execution("Unable to make the backup file '%s'. Exception: %w", path+data.Str(backup), osError(err))
		}
	}
	err := m.rewrite(path, text, inode)
	if err != nil {
		return loader.Execution("Exception: %w", osError(err))
	}
	return nil
}

// rewrite replaces the content of a file by renaming a new file over it. With inode, a file with several names keeps them:
// it is written in place. It is renamed all the same where another user could have planted the name, as a hard link to a
// file that is not theirs.
func (m *module) rewrite(path, text string, inode bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !inode || !ok || st.Nlink < 2 || othersMayPlant(path) {
		return m.place(path, placing{}, bytesOf([]byte(text)))
	}
	return writeThrough(path, bytesOf([]byte(text)))
}

// othersMayPlant reports whether users other than root and the minion's own may give names to files beside path.
func othersMayPlant(path string) bool {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return true
	}
	st, ok := dir.Sys().(*syscall.Stat_t)
	return !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || dir.Mode()&0o022 != 0
}

// copyBeside copies a file to its name with an ending. Where a link was given, a link to the copy stands beside it.
func copyBeside(path, given, ending string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	keep := func(f *os.File) error { return keepAs(f, path, info) }
	if err := atomicfile.Fill(path+ending, atomicfile.Options{Own: keep}, copyOf(path)); err != nil {
		return err
	}
	if err := os.Chtimes(path+ending, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	to, err := os.Readlink(given)
	if err != nil {
		return nil //nolint:nilerr // no link was given
	}
	return relink(to+ending, given+ending, true)
}

type commentArgs struct {
	Path   string
	Regex  string
	Char   string `default:"'#'"`
	Backup any    `default:"'.bak'"`
}

// comment puts a comment sign before the lines that a regular expression matches, and returns the diff of these lines; False where
// there is none.
//
// CLI Example:
//
//	salt '*' file.comment /etc/modules pcspkr
func (m *module) comment(ctx context.Context, a commentArgs) (any, error) {
	return m.commentLine(ctx, commentLineArgs{a.Path, a.Regex, a.Char, true, a.Backup})
}

// uncomment takes comment signs from before the lines that a regular expression matches, and returns the diff of these lines; False
// where there is none.
//
// CLI Example:
//
//	salt '*' file.uncomment /etc/hosts.deny 'ALL: PARANOID'
func (m *module) uncomment(ctx context.Context, a commentArgs) (any, error) {
	return m.commentLine(ctx, commentLineArgs{a.Path, a.Regex, a.Char, false, a.Backup})
}

type commentLineArgs struct {
	Path   string
	Regex  string
	Char   string `default:"'#'"`
	Cmnt   bool   `default:"True"`
	Backup any    `default:"'.bak'"`
}

// commentLine is file.comment, or with cmnt=False file.uncomment.
//
// CLI Example:
//
//	salt '*' file.comment_line /etc/modules pcspkr cmnt=True
func (m *module) commentLine(_ context.Context, a commentLineArgs) (any, error) {
	re, err := match.CompileRegexp(a.expr())
	if err != nil {
		return nil, reError(err)
	}
	path := where(a.Path)
	switch {
	case !paths.IsFile(path):
		return nil, loader.Invocation("File not found: %s", path)
	case !isText(path):
		return nil, loader.Invocation("Cannot perform string replacements on a binary file: %s", path)
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
		if err := m.edit(path, path, text, a.Backup, true); err != nil {
			return nil, err
		}
	}
	return difflib.Text(old, now), nil
}

// expr returns the expression for lines that are to change.
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

type backupsArgs struct {
	Path  string
	Limit any `default:"None"`
}

// listBackups returns the backups of a file, the newest first, by numbers from 0: where each is, its size and its time.
//
// limit : None
//
//	The most to return.
//
// CLI Example:
//
//	salt '*' file.list_backups /foo/bar/baz.txt
func (m *module) listBackups(_ context.Context, a backupsArgs) (any, error) {
	return m.backups(home(a.Path), a.Limit)
}

type backupArgs struct {
	Path     string
	BackupID any `name:"backup_id"`
}

// restoreBackup copies a backup, by its number in file.list_backups, to where the file was. What is there becomes a backup, too.
//
// CLI Example:
//
//	salt '*' file.restore_backup /foo/bar/baz.txt 0
func (m *module) restoreBackup(_ context.Context, a backupArgs) (any, error) {
	path := home(a.Path)
	from, ret, err := m.backupOf(path, a.BackupID)
	if err != nil || from == "" {
		return ret, err
	}
	if info, err := os.Stat(path); err == nil {
		if err := m.backUp(path, info); err != nil {
			return nil, osError(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, osError(err)
	}
	if err := m.place(realPath(path, 0), placing{}, copyOf(from)); err != nil {
		ret.Set("comment", "Unable to restore "+from+" to "+path+": "+osError(err).Error())
		return ret, nil
	}
	ret.Set("result", true)
	ret.Set("comment", "Successfully restored "+from+" to "+path)
	return ret, nil
}

// deleteBackup removes a backup, by its number in file.list_backups.
//
// CLI Example:
//
//	salt '*' file.delete_backup /var/cache/salt/minion/file_backup/home/foo/bar/baz.txt 0
func (m *module) deleteBackup(_ context.Context, a backupArgs) (any, error) {
	from, ret, err := m.backupOf(home(a.Path), a.BackupID)
	if err != nil || from == "" {
		return ret, err
	}
	if err := os.Remove(from); err != nil {
		ret.Set("comment", "Unable to remove "+from+": "+osError(err).Error())
		return ret, nil
	}
	ret.Set("result", true)
	ret.Set("comment", "Successfully removed "+from)
	return ret, nil
}

// backupOf returns where a backup is, or a result that says that there is none.
func (m *module) backupOf(path string, id any) (string, *data.Map, error) {
	ret := data.NewMap("result", false, "comment", "Invalid backup_id '"+data.Str(id)+"'")
	n, err := loader.Int(id)
	if err != nil || data.Str(n) != data.Str(id) {
		return "", ret, nil //nolint:nilerr // told in the result
	}
	list, err := m.backups(path, nil)
	if err != nil {
		return "", nil, err
	}
	one, ok := list.Value(n).(*data.Map)
	if !ok {
		ret.Set("comment", "backup_id '"+data.Str(id)+"' does not exist for "+path)
		return "", ret, nil
	}
	return one.Text("Location"), ret, nil
}

func (m *module) backups(path string, limit any) (*data.Map, error) {
	dir := filepath.Join(m.backupRoot(), filepath.Dir(path))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, osError(err)
	}
	var found []backup
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+"_")
		if b, good := backupFrom(dir, e, stamp); ok && good {
			found = append(found, b)
		}
	}
	most := -1
	if n, err := loader.Int(limit); err == nil && limit != nil {
		most = int(n)
	}
	return numberedBackups(found, most), nil
}
