package git

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// plain refuses names, revisions and addresses that git would take for options, of which some run commands (--upload-pack, --exec) or
// write files (--output). Salt hands them on; what is meant as an option has the argument opts.
func plain(words ...any) error {
	for _, word := range words {
		if text := data.Str(word); strings.HasPrefix(text, "-") {
			return loader.Execution("'%s' begins with a dash, and git would take it for an option", text)
		}
	}
	return nil
}

// plainWords is plain for a list, in which these words may be.
func plainWords(words []string, but ...string) error {
	for _, word := range words {
		if !slices.Contains(but, word) {
			if err := plain(word); err != nil {
				return err
			}
		}
	}
	return nil
}
