package git

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// plain rejects names, revisions and addresses that git would parse as options. Some options run
// commands (--upload-pack, --exec) or write files (--output). Salt passes them on; options belong
// in the argument opts.
func plain(words ...any) error {
	for _, word := range words {
		if text := data.Str(word); strings.HasPrefix(text, "-") {
			return loader.Execution("'%s' begins with a dash; git would treat it as an option",
				text)
		}
	}
	return nil
}

// plainWords is like plain for a list; it accepts the words in but.
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
