package packages

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Cmp compares two versions and returns a negative number, 0 or a positive one. ok is false if
// they cannot be compared.
type Cmp func(a, b string) (order int, ok bool)

// Holds reports whether a and b satisfy the operator oper: <, <=, ==, >=, > or !=. Any other
// operator is never satisfied.
func Holds(a, oper, b string, by Cmp) bool {
	order, ok := by(a, b)
	if !ok {
		return false
	}
	switch oper {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case "==":
		return order == 0
	case ">=":
		return order >= 0
	case ">":
		return order > 0
	case "!=":
		return order != 0
	}
	return false
}

// Knows reports whether Holds supports an operator.
func Knows(oper string) bool {
	return slices.Contains([]string{"<", "<=", "==", ">=", ">", "!="}, oper)
}

// operators in the order in which split_comparison tries them, the longer before the shorter.
func operators() []string {
	return []string{"<=>", "!=", ">=", "<=", ">>", "<<", "<>", ">", "<", "="}
}

// Split splits a condition such as >=1.2 into operator and version. Without an operator, or if no
// version follows it, the operator is "" and the version the whole text.
func Split(condition string) (oper, version string) {
	for _, op := range append(operators(), "") {
		rest, ok := strings.CutPrefix(condition, op)
		if !ok {
			continue
		}
		if blank(rest) && plain(rest[1:]) {
			return op, rest[1:]
		}
		if plain(rest) {
			return op, rest
		}
	}
	return "", condition
}

func plain(version string) bool { return version != "" && !strings.ContainsAny(version, "<>=") }

// blank reports whether a text begins with white space.
func blank(s string) bool { return s != "" && strings.ContainsRune(" \t\r\n\v\f", rune(s[0])) }

// Match returns the first of the available versions that satisfies a condition; without an operator
// it must be that version.
func Match(condition string, available []string, by Cmp) (string, bool) {
	oper, version := Split(condition)
	if oper == "" {
		oper = "=="
	}
	for _, v := range available {
		if Holds(v, oper, version, by) {
			return v, true
		}
	}
	return "", false
}

// WithoutEpoch returns a version without the part before its first colon.
func WithoutEpoch(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		return rest
	}
	return version
}

// component matches the parts into which LooseVersion splits versions.
var component = regexp.MustCompile(`\d+|[a-z]+|\.`)

// Loose compares versions as LooseVersion of salt/utils/versions.py does, for package managers
// without rules of their own: numbers as numbers, and as texts of eight digits if letters are
// involved.
func Loose(a, b string) int {
	x, y := parts(a), parts(b)
	if numbers(x) && numbers(y) {
		return slices.CompareFunc(x, y, func(s, t string) int {
			return cmp.Or(cmp.Compare(len(s), len(t)), strings.Compare(s, t))
		})
	}
	return slices.Compare(padded(x), padded(y))
}

// parts returns the parts of a version; numbers have no leading zeros.
func parts(version string) []string {
	var out []string
	add := func(s string) {
		if s == "" || s == "." {
			return
		}
		if digits(s) {
			s = strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:]
		}
		out = append(out, s)
	}
	at := 0
	for _, m := range component.FindAllStringIndex(version, -1) {
		add(version[at:m[0]])
		add(version[m[0]:m[1]])
		at = m[1]
	}
	add(version[at:])
	return out
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func numbers(parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !digits(p) })
}

func padded(parts []string) []string {
	out := slices.Clone(parts)
	for i, p := range out {
		if digits(p) && len(p) < 8 {
			n, _ := strconv.Atoi(p)
			p = strconv.Itoa(n)
			out[i] = strings.Repeat("0", 8-len(p)) + p
		}
	}
	return out
}
