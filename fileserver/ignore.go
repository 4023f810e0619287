package fileserver

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// An Ignore knows which files are not served: the options file_ignore_regex and file_ignore_glob. The nil Ignore ignores
// nothing. Several goroutines may use it.
type Ignore struct {
	regexes []*match.Regexp
	globs   []*match.Glob
}

// NewIgnore reads expressions of Python's re, which are searched for anywhere in a path, and patterns of its fnmatch,
// which match the whole path and whose * matches slashes too. The error joins those of expressions that cannot be read,
// which are left out, as in Salt.
func NewIgnore(regexes, globs []string) (*Ignore, error) {
	ig := &Ignore{}
	var errs []error
	for _, expr := range regexes {
		_, err := match.CompileRegexp(expr) // alone, since a ) in it could close the group of search
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

// IgnoreOf reads file_ignore_regex and file_ignore_glob, as NewIgnore.
func IgnoreOf(opts *data.Map) (*Ignore, error) {
	return NewIgnore(data.TextsOf(opts.Value("file_ignore_regex")), data.TextsOf(opts.Value("file_ignore_glob")))
}

// search makes of an expression for any place in a text one for its start. Flags for the whole expression stay in front.
func search(expr string) string {
	flags := ""
	if rest, ok := strings.CutPrefix(expr, "(?"); ok {
		if n := strings.IndexByte(rest, ')'); n > 0 && strings.Trim(rest[:n], "aiLmsux") == "" {
			flags, expr = expr[:n+3], expr[n+3:]
		}
	}
	end := ")"
	if strings.Contains(flags, "x") {
		end = "\n)" // a comment ends there
	}
	return flags + `[\s\S]*?(?:` + expr + end
}

// Empty reports whether nothing is ignored.
func (ig *Ignore) Empty() bool { return ig == nil || len(ig.regexes)+len(ig.globs) == 0 }

// Match reports whether a file is ignored that goes by these names: its path in the environment, and that on the host.
// Salt looks at the second where a file is asked for and at the first in lists; here each of them decides everywhere.
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
