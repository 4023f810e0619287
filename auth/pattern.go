package auth

import (
	"slices"
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

// match reports whether the expression is for all of s. Package match lets a $ take a line feed at the end with it; what is for
// all of a text that ends so is not ended by a $, and goes on with a second one.
func (p pattern) match(s string) bool {
	return p.re != nil && p.re.Match(s) && (!strings.HasSuffix(s, "\n") || p.re.Match(s+"\n"))
}

// A nameExpr is an expression for the names of users, or of functions in a blacklist: a glob, or a regular expression for the
// whole name (salt/utils/stringutils.py, expr_match).
type nameExpr struct {
	glob *match.Glob
	re   pattern
}

// newNameExpr compiles an expression. One that is no regular expression is a glob alone.
func newNameExpr(expr string) nameExpr {
	p, err := newPattern(expr)
	if err != nil {
		p = pattern{}
	}
	return nameExpr{match.CompileGlob(expr), p}
}

func (e nameExpr) match(name string) bool { return e.glob.Match(name) || e.re.match(name) }

// nameExprs match what one of them matches.
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
