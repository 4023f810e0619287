package fileserver

import (
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// maxPath is Linux's limit, in bytes.
const maxPath = 4096

// target is the parsed path of a request.
type target struct {
	path  string // clean and relative
	env   string
	query Query
}

// parse parses a path as sent by a minion (salt/fileserver/__init__.py, Fileserver.find_file). With
// a leading | all of it is the path. Otherwise options follow the ?, of which saltenv replaces env.
// It reports whether the path can be the path of a file.
func parse(raw, env string) (target, bool) {
	t := target{path: raw, env: env}
	if len(raw) > maxPath || len(env) > maxPath {
		return t, false
	}
	if strings.HasPrefix(raw, "|") {
		t.path = strings.TrimLeft(raw, "|")
	} else if name, rest, ok := strings.Cut(raw, "?"); ok {
		t.path = name
		t.takeOptions(rest)
	}
	if strings.Contains(t.path, "../") || strings.HasPrefix(t.path, "/") || !plain(t.path) ||
		!plain(t.env) {
		return t, false
	}
	t.path = path.Clean(t.path)
	return t, t.path != "." && fs.ValidPath(t.path)
}

// takeOptions reads name=value pairs separated by &, up to the next ?. Anything else is ignored.
func (t *target) takeOptions(s string) {
	s, _, _ = strings.Cut(s, "?")
	for pair := range strings.SplitSeq(s, "&") {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok || name == "env":
		case name == "saltenv":
			t.env = value
		default:
			if t.query == nil {
				t.query = Query{}
			}
			t.query[name] = value
		}
	}
}

// plain reports whether a name is text that a file system can store.
func plain(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
