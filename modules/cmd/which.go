package cmd

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// usualDirs are searched after PATH, in case it is incomplete.
const usualDirs = "/sbin /bin /usr/sbin /usr/bin /usr/local/sbin /usr/local/bin"

type whichArgs struct{ Cmd any }

// whichFunc returns the path of a program in the search path, or None if there is none.
//
// CLI Example:
//
//	salt '*' cmd.which cat
func (m programs) whichFunc(_ context.Context, a whichArgs) (any, error) {
	if !data.Truth(a.Cmd) {
		m.env.Log.Error("No executable was passed to be searched by salt.utils.path.which()")
		return nil, nil
	}
	return orNil(which(data.Str(a.Cmd))), nil
}

type whichBinArgs struct{ Cmds any }

// whichBin returns the path of the first of several programs that is in the search path, or None if
// there is none.
//
// CLI Example:
//
//	salt '*' cmd.which_bin '[pip2, pip, pip-python]'
func (programs) whichBin(_ context.Context, a whichBinArgs) (any, error) {
	var names []string
	switch v := a.Cmds.(type) {
	case string:
		names = []string{v}
	case []any:
		names = data.Texts(v)
	case data.Tuple:
		names = data.Texts(v)
	case *data.Map:
		for k := range v.All() {
			names = append(names, data.Str(k))
		}
	}
	for _, name := range names {
		if path := which(name); path != "" {
			return path, nil
		}
	}
	return nil, nil
}

// hasExec returns True if a program is in the search path.
//
// CLI Example:
//
//	salt '*' cmd.has_exec cat
func (programs) hasExec(_ context.Context, a whichArgs) (any, error) {
	return data.Truth(a.Cmd) && which(data.Str(a.Cmd)) != "", nil
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// which returns the path of a program, or "" if it is not found, like which of salt/utils/path.py.
// A path is returned as it is.
func which(name string) string {
	if name == "" {
		return ""
	}
	if executable(name) && slices.Contains(endingsOf(name), "") {
		return name
	}
	return inPath(name)
}

// helper returns the path of a program that the module itself needs, or "" if it is not found.
// Unlike which it never takes one from the current directory of the daemon or of salt-call.
func helper(name string) string {
	if path := inPath(name); filepath.IsAbs(path) {
		return path
	}
	return ""
}

// inPath returns the path of a program in the search path, or "" if it is not there.
func inPath(name string) string {
	endings := endingsOf(name)
	for _, dir := range searchPath() {
		for _, ending := range endings {
			if path := filepath.Join(dir, name) + ending; executable(path) {
				return path
			}
		}
	}
	return ""
}

// endingsOf returns the possible extensions of a program: on Windows PATHEXT, otherwise none.
func endingsOf(name string) []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	list := os.Getenv("PATHEXT")
	if list == "" {
		list = ".EXE"
	}
	endings := filepath.SplitList(list)
	has := func(e string) bool { return strings.EqualFold(e, filepath.Ext(name)) }
	if slices.ContainsFunc(endings, has) {
		return []string{""}
	}
	return endings
}

func searchPath() []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if runtime.GOOS == "windows" {
		return dirs
	}
	for dir := range strings.FieldsSeq(usualDirs) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
