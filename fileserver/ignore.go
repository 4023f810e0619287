package fileserver

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// An Ignore decides which files are not served: the options file_ignore_regex and file_ignore_glob.
// A nil *Ignore ignores nothing. It is safe for concurrent use.
type Ignore struct {
	regexes []*match.Regexp
	globs   []*match.Glob
}

// NewIgnore returns an Ignore for regular expressions and globs. The expressions are those of
// Python's re and match anywhere in a path. The globs are those of Python's fnmatch: they match the
// whole path, and * matches slashes too. Invalid expressions are left out, as in Salt, and the
// error joins their errors.
func NewIgnore(regexes, globs []string) (*Ignore, error) {
	ig := &Ignore{}
	var errs []error
	for _, expr := range regexes {
		// compiled alone, since a ) in it could close the group that search adds
		_, err := match.CompileRegexp(expr)
		re, err2 := match.CompileRegexp(search(expr))
		if err := cmp.Or(err, err2); err != nil {
			errs = append(errs, fmt.Errorf("Unable to parse file_ignore_regex. Skipping: %s: %w", expr, err)) //nolint:staticcheck // Salt's text
			continue
		}
		ig.regexes = append(ig.regexes, re)
	}
	for _, glob := range globs {
		ig.globs = append(ig.globs, match.CompileGlob(glob))
	}
	return ig, errors.Join(errs...)
}

// IgnoreOf is NewIgnore for the options file_ignore_regex and file_ignore_glob.
func IgnoreOf(opts *data.Map) (*Ignore, error) {
	return NewIgnore(data.TextsOf(opts.Value("file_ignore_regex")),
		data.TextsOf(opts.Value("file_ignore_glob")))
}

// search turns an expression that may match anywhere into one that matches at the start of a text.
// Flags for the whole expression stay in front.
func search(expr string) string {
	flags := ""
	if rest, ok := strings.CutPrefix(expr, "(?"); ok {
		if n := strings.IndexByte(rest, ')'); n > 0 && strings.Trim(rest[:n], "aiLmsux") == "" {
			flags, expr = expr[:n+3], expr[n+3:]
		}
	}
	end := ")"
	if strings.Contains(flags, "x") {
		end = "\n)" // ends a comment
	}
	return flags + `[\s\S]*?(?:` + expr + end
}

// Empty reports whether nothing is ignored.
func (ig *Ignore) Empty() bool { return ig == nil || len(ig.regexes)+len(ig.globs) == 0 }

// Match reports whether a file with these names is ignored: its path in the environment and its
// path on the host. Salt checks the second when a file is requested and the first in lists; here
// either one counts in both cases.
func (ig *Ignore) Match(names ...string) bool {
	if ig == nil {
		return false
	}
	for _, name := range names {
		for _, re := range ig.regexes {
			if re.Match(name) {
				return true
			}
		}
		for _, glob := range ig.globs {
			if glob.Match(name) {
				return true
			}
		}
	}
	return false
}
