package packages

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Names refuses names, patterns and paths that a package manager would take for something else: for an option, as -oAPT::..=command is
// one, or for several lines of its input. Salt hands them on.
func Names[T any](names ...T) error {
	for _, name := range names {
		text := data.Str(any(name))
		if strings.HasPrefix(text, "-") {
			return loader.Execution("'%s' is no name of a package: it begins with a dash, and would be taken for an option", text)
		}
		if strings.ContainsAny(text, "\n\r\x00") {
			return loader.Execution("%q is no name of a package: it has more than one line", text)
		}
	}
	return nil
}
