package auth

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/match"
)

// A pattern is a regular expression that must match a whole string.
type pattern struct{ re *match.Regexp }

// newPattern compiles a Python regular expression. Leading flags are kept at the start, the only
// place where Python allows them.
func newPattern(expr string) (pattern, error) {
	flags := ""
	if end := strings.IndexByte(expr, ')'); strings.HasPrefix(expr, "(?") && end > 2 &&
		strings.Trim(expr[2:end], "aiLmsux") == "" {
		flags, expr = expr[:end+1], expr[end+1:]
	}
	// compiled alone first, so that an unbalanced ) cannot close the group below
	if _, err := match.CompileRegexp(flags + expr); err != nil {
		return pattern{}, err
	}
	re, err := match.CompileRegexp(flags + "(?:" + expr + `)\Z`)
	return pattern{re}, err
}

// match reports whether the expression matches all of s. In package match, $ also matches before a
// final line feed, so strings that end in one are handled separately.
func (p pattern) match(s string) bool {
	return p.re != nil && p.re.Match(s) && (!strings.HasSuffix(s, "\n") || p.re.Match(s+"\n"))
}

// A nameExpr is an expression for user names, or for functions in a blacklist: a glob or a regular
// expression for the whole name (salt/utils/stringutils.py, expr_match).
type nameExpr struct {
	glob *match.Glob
	re   pattern
}

// newNameExpr compiles an expression. An invalid regular expression is used as a glob only.
func newNameExpr(expr string) nameExpr {
	p, err := newPattern(expr)
	if err != nil {
		p = pattern{}
	}
	return nameExpr{match.CompileGlob(expr), p}
}

func (e nameExpr) match(name string) bool { return e.glob.Match(name) || e.re.match(name) }

// nameExprs matches names that one of its expressions matches.
type nameExprs []nameExpr

func newNameExprs(exprs []string) nameExprs {
	all := make(nameExprs, len(exprs))
	for i, e := range exprs {
		all[i] = newNameExpr(e)
	}
	return all
}

func (all nameExprs) match(name string) bool {
	return slices.ContainsFunc(all, func(e nameExpr) bool { return e.match(name) })
}
