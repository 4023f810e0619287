// Package shellglob finds files by shell patterns as Python's glob.glob does, but sorted.
package shellglob

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Paths returns the paths that match a pattern, sorted. Wildcards do not match names that begin
// with a dot. A pattern without wildcards matches itself if the file exists.
func Paths(pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[") {
		if _, err := os.Lstat(pattern); err != nil {
			return nil
		}
		return []string{pattern}
	}
	found, err := filepath.Glob(strings.ReplaceAll(pattern, "[!", "[^"))
	if err != nil {
		return nil
	}
	wants := strings.Split(filepath.Clean(pattern), string(filepath.Separator))
	found = slices.DeleteFunc(found, func(path string) bool {
		for i, part := range strings.Split(path, string(filepath.Separator)) {
			if strings.HasPrefix(part, ".") && i < len(wants) && !strings.HasPrefix(wants[i], ".") {
				return true
			}
		}
		return false
	})
	slices.Sort(found)
	return found
}
