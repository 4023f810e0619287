package fileserver

import (
	"slices"

	"github.com/brineproject/brine/match"
)

// An Exposure decides which names are served, by a whitelist and a blacklist
// (salt/utils/stringutils.py, check_whitelist_blacklist). Both hold globs, and regular expressions
// that match a whole name.
type Exposure struct{ white, black []expr }

// NewExposure returns the Exposure of two lists. An empty whitelist allows all names.
func NewExposure(white, black []string) *Exposure { return &Exposure{exprs(white), exprs(black)} }

// Has reports whether a name is served.
func (e *Exposure) Has(name string) bool {
	has := func(list []expr) bool { return slices.ContainsFunc(list, func(x expr) bool { return x.match(name) }) }
	return !has(e.black) && (len(e.white) == 0 || has(e.white))
}

// expr is a glob or a regular expression that matches a whole name (salt/utils/stringutils.py,
// expr_match).
type expr struct {
	glob *match.Glob
	re   *match.Regexp // nil if the text is not a regular expression
}

func exprs(list []string) []expr {
	out := make([]expr, len(list))
	for i, s := range list {
		out[i].glob = match.CompileGlob(s)
		if _, err := match.CompileRegexp(s); err == nil {
			// an expression with flags at the start counts only as a glob
			out[i].re, _ = match.CompileRegexp(`(?:` + s + `)\Z`)
		}
	}
	return out
}

func (e expr) match(name string) bool {
	return e.glob.Match(name) || e.re != nil && e.re.Match(name)
}
