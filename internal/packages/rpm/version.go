package rpm

import (
	"cmp"
	"strconv"
	"strings"
)

// An EVR holds the parts of a version. Epoch is a decimal number.
type EVR struct{ Epoch, Version, Release string }

// ParseEVR splits a version at its first colon and its first minus. An epoch that is no number
// becomes 0.
func ParseEVR(text string) EVR {
	e := EVR{Epoch: "0"}
	epoch, rest, ok := strings.Cut(text, ":")
	if !ok {
		rest = text
	} else if n, err := strconv.ParseInt(strings.TrimSpace(epoch), 10, 64); err == nil {
		e.Epoch = strconv.FormatInt(n, 10)
	}
	e.Version, e.Release, _ = strings.Cut(rest, "-")
	return e
}

// CompareEVR compares two versions by epoch, version and release; releases are only compared if
// both have one.
func CompareEVR(a, b string) int {
	x, y := ParseEVR(a), ParseEVR(b)
	if x.Release == "" || y.Release == "" {
		x.Release, y.Release = "", ""
	}
	return cmp.Or(Compare(x.Epoch, y.Epoch), Compare(x.Version, y.Version),
		Compare(x.Release, y.Release))
}

// Compare compares two versions, or two releases, as RPM does: the texts are split into runs of
// digits and of letters, which are compared in order; all other characters only separate them. A
// tilde sorts before everything, even the end; a caret after the end and before all others.
func Compare(a, b string) int {
	for a != b {
		a, b = strings.TrimLeftFunc(a, parting), strings.TrimLeftFunc(b, parting)
		if order, ok := compareMark(a, b); order != 0 {
			return order
		} else if ok {
			a, b = a[1:], b[1:]
			continue
		}
		if a == "" || b == "" {
			return cmp.Compare(len(a), len(b))
		}
		x, y := run(a), runLike(b, a[0])
		if order := compareRuns(x, y); order != 0 {
			return order
		}
		a, b = a[len(x):], b[len(y):]
	}
	return 0
}

// compareMark compares texts one of which begins with a tilde or a caret. ok means that both begin
// with the same.
func compareMark(a, b string) (order int, ok bool) {
	switch {
	case begins(a, '~') && begins(b, '~') || begins(a, '^') && begins(b, '^'):
		return 0, true
	case begins(a, '~'):
		return -1, false
	case begins(b, '~'):
		return 1, false
	case begins(a, '^'):
		return orElse(b == "", 1, -1), false
	case begins(b, '^'):
		return orElse(a == "", -1, 1), false
	}
	return 0, false
}

func orElse(when bool, is, or int) int {
	if when {
		return is
	}
	return or
}

func begins(s string, c byte) bool { return s != "" && s[0] == c }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// parting reports whether a character only separates runs.
func parting(r rune) bool {
	return r >= 0x80 || !digit(byte(r)) && !letter(byte(r)) && r != '~' && r != '^'
}

// run returns the digits, or the letters, at the beginning of a text.
func run(s string) string { return runLike(s, s[0]) }

// runLike returns the characters of the kind of c at the beginning of a text.
func runLike(s string, c byte) string {
	kind := letter
	if digit(c) {
		kind = digit
	}
	n := 0
	for n < len(s) && kind(s[n]) {
		n++
	}
	return s[:n]
}

// compareRuns compares a run with one of the same kind, which may be empty: then numbers are newer
// than letters.
func compareRuns(x, y string) int {
	numeric := digit(x[0])
	switch {
	case y == "":
		return orElse(numeric, 1, -1)
	case numeric:
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	}
	return strings.Compare(x, y)
}
