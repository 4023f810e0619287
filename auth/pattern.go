package auth

import (
	"strings"

	"github.com/brineproject/brine/match"
)

// A pattern is a regular expression for a whole text.
type pattern struct{ re *match.Regexp }

// newPattern compiles an expression of Python's. Flags at its start stay at the start, where alone Python takes them.
func newPattern(expr string) (pattern, error) {
	flags := ""
	if end := strings.IndexByte(expr, ')'); strings.HasPrefix(expr, "(?") && end > 2 && strings.Trim(expr[2:end], "aiLmsux") == "" {
		flags, expr = expr[:end+1], expr[end+1:]
	}
	if _, err := match.CompileRegexp(flags + expr); err != nil { // or a ) in it could close the group below
		return pattern{}, err
	}
	re, err := match.CompileRegexp(flags + "(?:" + expr + `)\Z`)
	return pattern{re}, err
}

func (p pattern) match(s string) bool { return p.re != nil && p.re.Match(s) }

// nameMatch reports whether the name of a user is an expression of publisher_acl, as a glob or as a regular expression for
// the whole name (salt/utils/stringutils.py, expr_match).
func nameMatch(expr, name string) bool {
	if match.CompileGlob(expr).Match(name) {
		return true
	}
	p, err := newPattern(expr)
	return err == nil && p.match(name)
}
