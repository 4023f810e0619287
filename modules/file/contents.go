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
//	Characters to strip from the beginning of each line first.
//
// CLI Example:
//
//	salt '*' file.contains_regex /etc/crontab '^MAILTO=' lchar='#'
func containsRegex(_ context.Context, a containsRegexArgs) (any, error) {
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
			return false, nil //nolint:nilerr // at the end or after a read error, like Salt
		}
	}
}

// openThere opens a file and reports whether that worked. Only pipes and endless devices are an
// error.
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

// containsGlob reports whether a glob matches the whole content of a file; in a large file, any 256
// kB of it.
//
// CLI Example:
//
//	salt '*' file.contains_glob /etc/foobar '*cheese*'
func containsGlob(_ context.Context, a containsGlobArgs) (any, error) {
	f, ok, err := openThere(a.Path)
	if !ok {
		return false, err
	}
	defer f.Close()
	glob := match.CompileGlob(a.GlobExpr)
	return anyPiece(f, func(text string) (bool, error) { return glob.Match(text), nil })
}

type openFilesArgs struct {
	ByPID bool `name:"by_pid" default:"False"`
}

// openFiles returns the open files of all processes, each with the ids of its processes.
//
// by_pid : False
//
//	Return the processes instead, each with its files.
//
// CLI Example:
//
//	salt '*' file.open_files by_pid=True
func (m searches) openFiles(_ context.Context, a openFilesArgs) (any, error) {
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

// filesOf returns the open files and executables of the process in a directory of /proc, sorted. It
// skips sockets, pipes and deleted files.
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
