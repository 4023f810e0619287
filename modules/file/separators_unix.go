//go:build unix

package file

import (
	"path"
	"strings"
)

// globSigns translates a glob of Python into one of Go.
var globSigns = strings.NewReplacer(`\`, `\\`, "[!", "[^")

// split returns a path up to its last slash, and what follows.
func split(p string) (head, tail string) {
	i := strings.LastIndexByte(p, '/') + 1
	return p[:i], p[i:]
}

// above returns the path of the directory of p, like Python's os.path.dirname.
func above(p string) string {
	head, _ := split(p)
	if short := strings.TrimRight(head, "/"); short != "" {
		return short
	}
	return head
}

// joinedTo appends a part to a path, like Python's os.path.join.
func joinedTo(p, part string) string {
	switch {
	case strings.HasPrefix(part, "/"):
		return part
	case p == "" || strings.HasSuffix(p, "/"):
		return p + part
	}
	return p + "/" + part
}

// normal returns a path like Python's os.path.normpath.
func normal(p string) string {
	clean := path.Clean(p)
	if strings.HasPrefix(p, "//") && !strings.HasPrefix(p, "///") {
		return "/" + clean // POSIX gives two slashes a meaning of their own
	}
	return clean
}

// pathParts returns the names in a path.
func pathParts(p string) []string { return strings.Split(p, "/") }
