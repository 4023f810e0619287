//go:build unix

package file

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

type containsRegexArgs struct {
	Path  string
	Regex string
	Lchar string `default:"''"`
}

// containsRegex reports whether a regular expression matches in a line of a file.
//
// lchar
//
//	Characters that are taken from the beginning of each line first.
//
// CLI Example:
//
//	salt '*' file.contains_regex /etc/crontab '^MAILTO=' lchar='#'
func (m *module) containsRegex(_ context.Context, a containsRegexArgs) (any, error) {
	f, ok, err := openThere(a.Path)
	if !ok {
		return false, err
	}
	defer f.Close()
	matches, err := searcher(a.Regex, 0)
	if err != nil {
		return nil, err
	}
	for r := bufio.NewReader(io.LimitReader(f, mostRead)); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			line = strings.TrimLeft(strings.ReplaceAll(line, "\r\n", "\n"), a.Lchar)
			if ok, err := matches(line); ok || err != nil {
				return ok, err
			}
		}
		if err != nil {
			return false, nil //nolint:nilerr // the end, or what cannot be read, as Salt
		}
	}
}

// openThere opens a file, and reports whether it could be opened. Only of pipes and devices without end there is an error.
func openThere(path string) (*os.File, bool, error) {
	f, err := open(home(path))
	if errors.Is(err, errEndless) {
		return nil, false, err
	}
	return f, err == nil, nil
}

type containsGlobArgs struct {
	Path     string
	GlobExpr string
}

// containsGlob reports whether a glob matches the content of a file as a whole; of a large one, of 256 kB in it.
//
// CLI Example:
//
//	salt '*' file.contains_glob /etc/foobar '*cheese*'
func (m *module) containsGlob(_ context.Context, a containsGlobArgs) (any, error) {
	f, ok, err := openThere(a.Path)
	if !ok {
		return false, err
	}
	defer f.Close()
	glob := match.CompileGlob(a.GlobExpr)
	return windows(f, func(text string) (bool, error) { return glob.Match(text), nil })
}

type openFilesArgs struct {
	ByPID bool `name:"by_pid" default:"False"`
}

// openFiles returns the files that processes have open, each with the ids of the processes.
//
// by_pid : False
//
//	Return the processes, each with its files.
//
// CLI Example:
//
//	salt '*' file.open_files by_pid=True
func (m *module) openFiles(_ context.Context, a openFilesArgs) (any, error) {
	proc := filepath.Join(m.env.Root, "/proc")
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, osError(err)
	}
	byPID, files := data.NewMap(), data.NewMap()
	var ids []int64
	for _, e := range entries {
		if id, err := loader.Int(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		names := []any{}
		for _, name := range filesOf(filepath.Join(proc, data.Str(id))) {
			names = append(names, name)
			pids, _ := files.Value(name).([]any)
			files.Set(name, append(pids, id))
		}
		byPID.Set(id, names)
	}
	if a.ByPID {
		return byPID, nil
	}
	return files, nil
}

// filesOf returns the files that the process of a directory of /proc has open, and those that it runs, sorted. Sockets, pipes and files
// that are gone are none.
func filesOf(dir string) []string {
	var links []string
	for _, pattern := range []string{"fd/*", "task/*/exe", "task/*/fd/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		links = append(links, found...)
	}
	var names []string
	for _, link := range links {
		if name := realPath(link, 0); name != link && paths.Exists(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listBackupsDir returns the backups of the files of a directory: by the name of each file up to its first underscore, what
// file.list_backups tells.
//
// limit : None
//
//	The most to return of each.
//
// CLI Example:
//
//	salt '*' file.list_backups_dir /foo/bar/baz/
func (m *module) listBackupsDir(_ context.Context, a backupsArgs) (any, error) {
	dir := filepath.Join(m.backupRoot(), filepath.Dir(home(a.Path)+"x"))
	limit := -1
	if a.Limit != nil {
		if n, err := loader.Int(a.Limit); err == nil {
			limit = int(n)
		} else {
			m.env.Log.Error("file.list_backups_dir: 'limit' value must be numeric")
		}
	}
	all := data.NewMap()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return all, nil //nolint:nilerr // as Salt
	}
	groups := map[string][]backup{}
	for _, e := range entries {
		name, stamp, _ := strings.Cut(e.Name(), "_")
		if !all.Has(name) {
			all.Set(name, data.NewMap())
		}
		if b, ok := timedBackup(dir, e, stamp); ok {
			groups[name] = append(groups[name], b)
		}
	}
	for name, list := range groups {
		all.Set(name, numberedBackups(list, limit))
	}
	return all, nil
}
