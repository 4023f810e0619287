package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
)

// Folders reports directories that do not exist in an option such as file_roots, a mapping of
// environments to directories, if a file sets the option. Each is only a doubt: it may be created
// later.
func (r *Report) Folders(option string, roots *data.Map) {
	if _, set := r.Sources[option]; !set {
		return
	}
	_ = r.Judge(option, NoFolders(roots)) // doubts become warnings
}

// NoFolders returns a doubt for each path in a mapping of environments to lists of directories that
// is not an existing directory; nil if there is none. Paths that cannot be examined are accepted.
func NoFolders(roots *data.Map) error {
	var odd []error
	for env, v := range roots.All() {
		dirs, _ := v.([]any)
		for i, dir := range dirs {
			if text := noFolder(data.Str(dir)); text != "" {
				odd = append(odd, &Finding{Path: []any{env, Entry{Index: i, Value: dir}},
					Text: text, Suggestion: "create it, or correct the path", Doubt: true})
			}
		}
	}
	return errors.Join(odd...)
}

// noFolder returns the problem with the path of a directory, or "".
func noFolder(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case strings.Contains(dir, "__env__"):
		return ""
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("the directory %s does not exist", dir)
	case err == nil && !info.IsDir():
		return fmt.Sprintf("%s is not a directory", dir)
	}
	return ""
}
