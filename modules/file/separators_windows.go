package file

import (
	"path/filepath"
	"strings"
)

// globSigns translates a glob of Python into one of Go, where on Windows a backslash only separates.
var globSigns = strings.NewReplacer("[!", "[^")

const separators = `\/`

// split returns a path up to its last separator or drive, and what follows.
func split(p string) (head, tail string) {
	drive := len(filepath.VolumeName(p))
	i := max(drive, strings.LastIndexAny(p, separators)+1)
	return p[:i], p[i:]
}

// above returns the path of the directory of p, like Python's ntpath.dirname.
func above(p string) string {
	head, _ := split(p)
	drive := filepath.VolumeName(head)
	if short := strings.TrimRight(head[len(drive):], separators); short != "" {
		return drive + short
	}
	return head
}

// joinedTo appends a part to a path, like Python's ntpath.join.
func joinedTo(p, part string) string {
	drive, other := filepath.VolumeName(p), filepath.VolumeName(part)
	rest := part[len(other):]
	switch {
	case rest != "" && strings.ContainsRune(separators, rune(rest[0])): // from the root of a drive
		if other == "" {
			other = drive
		}
		return other + rest
	case other != "" && !strings.EqualFold(other, drive):
		return part
	case p == drive || strings.ContainsRune(separators, rune(p[len(p)-1])):
		return p + rest
	}
	return p + `\` + rest
}

// normal returns a path like Python's ntpath.normpath.
func normal(p string) string { return filepath.Clean(p) }

// pathParts returns the names in a path.
func pathParts(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune(separators, r) })
}
