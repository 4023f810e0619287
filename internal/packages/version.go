package packages

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Cmp compares two versions: below 0, 0 or above 0. ok is false where they cannot be compared.
type Cmp func(a, b string) (order int, ok bool)

// Holds reports whether a and b stand in the relation that oper names: <, <=, ==, >=, > or !=. Any other relation holds for nothing.
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

// Knows reports whether Holds knows a relation.
func Knows(oper string) bool {
	return slices.Contains([]string{"<", "<=", "==", ">=", ">", "!="}, oper)
}

// operators as split_comparison tries them, the longer before the shorter.
func operators() []string {
	return []string{"<=>", "!=", ">=", "<=", ">>", "<<", "<>", ">", "<", "="}
}

// Split parts a condition such as >=1.2 into relation and version. Without a relation, and where what follows it is no version, the
// relation is "" and the version the whole text.
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

// Match returns the first of the available versions for which a condition holds; a condition without a relation wants that version.
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

// WithoutEpoch returns a version without what stands before its first colon.
func WithoutEpoch(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		return rest
	}
	return version
}

// component is what LooseVersion splits versions at.
var component = regexp.MustCompile(`\d+|[a-z]+|\.`)

// Loose compares versions as LooseVersion of salt/utils/versions.py does, for package managers with no rule of their own: numbers as
// numbers, and, where letters are about, as texts of eight digits.
func Loose(a, b string) int {
	x, y := parts(a), parts(b)
	if numbers(x) && numbers(y) {
		return slices.CompareFunc(x, y, func(s, t string) int {
			return cmp.Or(cmp.Compare(len(s), len(t)), strings.Compare(s, t))
		})
	}
	return slices.Compare(padded(x), padded(y))
}

// parts returns what a version consists of; numbers have no zeros in front.
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
