// Package pep440 compares versions of Python packages, and checks them against requirements (PEP
// 440).
//
// Invalid versions are older than all valid ones, and are compared as text.
package pep440

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A version is a parsed version. Missing parts have values that compare correctly.
type version struct {
	ok       bool
	text     string
	epoch    int
	release  []int
	pre      [2]int // kind and number: dev alone -2, a 0, b 1, rc 2, none 3
	post     int    // -1 for none
	dev      int    // the largest int for none
	local    string
	hasLocal bool
}

const (
	none  = 3
	never = int(^uint(0) >> 1)
)

func pattern() *regexp.Regexp {
	return regexp.MustCompile(`^v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?` +
		`(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)
}

func parse(s string) version {
	s = strings.ToLower(strings.TrimSpace(s))
	v := version{text: s, post: -1, dev: never, pre: [2]int{none, 0}}
	m := pattern().FindStringSubmatch(s)
	if m == nil {
		return v
	}
	v.ok, v.epoch = true, number(m[1])
	for part := range strings.SplitSeq(m[2], ".") {
		v.release = append(v.release, number(part))
	}
	for len(v.release) > 1 && v.release[len(v.release)-1] == 0 {
		v.release = v.release[:len(v.release)-1]
	}
	kinds := map[string]int{"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2,
		"preview": 2}
	if m[3] != "" {
		v.pre = [2]int{kinds[m[3]], number(m[4])}
	}
	if m[5] != "" || m[6] != "" {
		v.post = number(m[5] + m[7])
	}
	if m[8] != "" {
		if v.dev = number(m[9]); m[3] == "" && v.post < 0 {
			v.pre = [2]int{-2, 0}
		}
	}
	v.local, v.hasLocal = strings.NewReplacer("-", ".", "_", ".").Replace(m[10]), m[10] != ""
	return v
}

// number parses a number; one that is too large becomes the largest.
func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return never
	}
	return n
}

// Compare returns -1, 0 or 1 if version a is older than, the same as or newer than b.
func Compare(a, b string) int { return compare(parse(a), parse(b)) }

func compare(a, b version) int {
	if !a.ok || !b.ok {
		if a.ok != b.ok {
			return map[bool]int{true: 1, false: -1}[a.ok]
		}
		return cmp.Compare(a.text, b.text)
	}
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), slices.Compare(a.release, b.release),
		slices.Compare(a.pre[:], b.pre[:]), cmp.Compare(a.post, b.post), cmp.Compare(a.dev, b.dev),
		compareLocal(a, b))
}

func compareLocal(a, b version) int {
	if a.hasLocal != b.hasLocal {
		return map[bool]int{true: 1, false: -1}[a.hasLocal]
	}
	return slices.CompareFunc(strings.Split(a.local, "."), strings.Split(b.local, "."),
		func(x, y string) int {
			n, errN := strconv.Atoi(x)
			m, errM := strconv.Atoi(y)
			switch {
			case errN == nil && errM == nil:
				return cmp.Compare(n, m)
			case errN == nil:
				return 1
			case errM == nil:
				return -1
			}
			return cmp.Compare(x, y)
		})
}

// Satisfies reports whether a version satisfies an operator and a version, which may end in .* for
// == and !=.
func Satisfies(have, operator, want string) bool {
	if operator == "===" {
		return have == want
	}
	if prefix, ok := strings.CutSuffix(want, ".*"); ok {
		return begins(have, prefix) != (operator == "!=")
	}
	c := Compare(have, want)
	switch operator {
	case "==":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "~=":
		i := strings.LastIndexByte(want, '.')
		return c >= 0 && i > 0 && begins(have, want[:i])
	}
	return false
}

// begins reports whether a version begins with the release of another.
func begins(have, prefix string) bool {
	h, p := parse(have), parse(prefix)
	wanted := strings.Count(prefix, ".") + 1
	for i := range wanted {
		if at(h.release, i) != at(p.release, i) {
			return false
		}
	}
	return h.ok && p.ok && h.epoch == p.epoch
}

func at(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return 0
}
