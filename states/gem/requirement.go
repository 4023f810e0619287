package gem

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A requirement is one comparison with a version, as RubyGems writes it.
type requirement struct{ operator, version string }

var (
	requirementForm = regexp.MustCompile(
		`^(=|!=|>=|<=|~>|>|<)?\s*([0-9]+(?:\.[0-9A-Za-z]+)*(?:-[0-9A-Za-z.-]+)?)$`)
	segment = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)
)

// requirements parses requirements that commas separate; ok is false if one has another form.
func requirements(text string) (all []requirement, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		found := requirementForm.FindStringSubmatch(strings.TrimSpace(part))
		if found == nil {
			return nil, false
		}
		all = append(all, requirement{cmp.Or(found[1], "="), found[2]})
	}
	return all, true
}

// met reports whether a version meets the requirement.
func (r requirement) met(version string) bool {
	c := compare(version, r.version)
	switch r.operator {
	case "=":
		return c == 0
	case "!=":
		return c != 0
	case ">":
		return c > 0
	case "<":
		return c < 0
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	}
	// ~> 1.2.3 means 1.2.3 or newer, but older than 1.3.
	parts := numbersOf(r.version)
	kept := parts[:max(1, len(parts)-1)]
	have := numbersOf(version)
	for len(have) < len(kept) {
		have = append(have, "0")
	}
	return c >= 0 && slices.Equal(have[:len(kept)], kept)
}

// numbersOf returns the numbers of a version before the first part with letters.
func numbersOf(version string) []string {
	parts := segment.FindAllString(version, -1)
	if at := slices.IndexFunc(parts, isWord); at >= 0 {
		parts = parts[:at]
	}
	for i, part := range parts {
		parts[i] = strings.TrimLeft(part[:len(part)-1], "0") + part[len(part)-1:]
	}
	return parts
}

func isWord(part string) bool { return part[0] > '9' }

// compare compares versions as RubyGems does: 1.2 and 1.2.0 are equal, and 1.2.a is older than 1.2.
func compare(a, b string) int {
	x, y := segment.FindAllString(a, -1), segment.FindAllString(b, -1)
	for i := range max(len(x), len(y)) {
		p, q := "0", "0"
		if i < len(x) {
			p = x[i]
		}
		if i < len(y) {
			q = y[i]
		}
		switch {
		case isWord(p) != isWord(q):
			if isWord(p) {
				return -1
			}
			return 1
		case isWord(p):
			if c := strings.Compare(p, q); c != 0 {
				return c
			}
		default:
			m, _ := strconv.ParseUint(p, 10, 64)
			n, _ := strconv.ParseUint(q, 10, 64)
			if c := cmp.Compare(m, n); c != 0 {
				return c
			}
		}
	}
	return 0
}
