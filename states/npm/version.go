package npm

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A version is a version as of Semantic Versioning; pre has the parts of a pre-release.
type version struct {
	numbers [3]int
	pre     []string
}

func (v version) compare(o version) int {
	if c := slices.Compare(v.numbers[:], o.numbers[:]); c != 0 {
		return c
	}
	if len(v.pre) == 0 || len(o.pre) == 0 {
		return cmp.Compare(len(o.pre), len(v.pre)) // a release follows its pre-releases
	}
	return slices.CompareFunc(v.pre, o.pre, func(a, b string) int {
		x, errA := strconv.Atoi(a)
		y, errB := strconv.Atoi(b)
		switch {
		case errA == nil && errB == nil:
			return cmp.Compare(x, y)
		case errA == nil:
			return -1
		case errB == nil:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// next returns the lowest version after all those that begin with n numbers of v.
func (v version) next(n int) version {
	if n == 0 {
		return version{numbers: [3]int{math.MaxInt}}
	}
	var next version
	copy(next.numbers[:n], v.numbers[:n])
	next.numbers[n-1]++
	next.pre = []string{"0"}
	return next
}

var partial = regexp.MustCompile(`^[v=\s]*([0-9]+|[xX*])?(?:\.([0-9]+|[xX*]))?(?:\.([0-9]+|[xX*]))?` +
	`(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)

// parse parses a version of which the last numbers may be missing or x. It returns how many there are.
func parse(text string) (v version, n int, ok bool) {
	found := partial.FindStringSubmatch(text)
	if found == nil {
		return v, 0, false
	}
	for ; n < 3; n++ {
		number, err := strconv.Atoi(found[n+1])
		if err != nil {
			break
		}
		v.numbers[n] = number
	}
	if found[4] != "" && n == 3 {
		v.pre = strings.Split(found[4], ".")
	}
	return v, n, true
}

// A limit is one comparison of a range. Without an operator the version has to be equal.
type limit struct {
	operator string
	version  version
}

func (l limit) allows(v version) bool {
	c := v.compare(l.version)
	switch l.operator {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return c == 0
}

// satisfies reports whether a version is in a range of npm, such as ^1.2 or >=1 <3 || 4.x. It is not
// known if the range is something else, such as a tag.
func satisfies(text, spec string) (is, known bool) {
	v, n, ok := parse(text)
	if !ok || n < 3 {
		return text == spec, text == spec
	}
	for alternative := range strings.SplitSeq(spec, "||") {
		limits, ok := limitsOf(strings.TrimSpace(alternative))
		if !ok {
			return false, false
		}
		is = is || within(v, limits)
	}
	return is, true
}

// within reports whether a version is within all limits. A pre-release is only if one of them names a
// pre-release of the same version.
func within(v version, limits []limit) bool {
	named := len(v.pre) == 0
	for _, l := range limits {
		if !l.allows(v) {
			return false
		}
		upper := l.operator == "<" && slices.Equal(l.version.pre, []string{"0"})
		named = named || len(l.version.pre) > 0 && !upper && l.version.numbers == v.numbers
	}
	return named
}

var (
	hyphen     = regexp.MustCompile(`^(\S+)\s+-\s+(\S+)$`)
	comparator = regexp.MustCompile(`(\^|~>?|[<>]=?|=)\s*`)
)

func limitsOf(text string) ([]limit, bool) {
	if found := hyphen.FindStringSubmatch(text); found != nil {
		low, _, ok := parse(found[1])
		high, ok2 := limitsFor("<=", found[2])
		return append(high, limit{">=", low}), ok && ok2
	}
	limits := []limit{{">=", version{}}}
	for word := range strings.FieldsSeq(comparator.ReplaceAllString(text, "$1")) {
		operator := comparator.FindString(word)
		more, ok := limitsFor(operator, strings.TrimPrefix(word, operator))
		if !ok {
			return nil, false
		}
		limits = append(limits, more...)
	}
	return limits, true
}

// limitsFor returns the limits of an operator and a version with n numbers.
func limitsFor(operator, text string) ([]limit, bool) {
	v, n, ok := parse(text)
	if !ok || text == "" {
		return nil, false
	}
	switch {
	case operator == "^":
		kept := 1 // up to the first number that is not zero
		for kept < n && kept < 3 && v.numbers[kept-1] == 0 {
			kept++
		}
		return []limit{{">=", v}, {"<", v.next(min(kept, n))}}, true
	case strings.HasPrefix(operator, "~"):
		return []limit{{">=", v}, {"<", v.next(min(2, n))}}, true
	case n == 3:
		return []limit{{operator, v}}, true
	case operator == ">":
		return []limit{{">=", version{numbers: v.next(n).numbers}}}, true
	case operator == ">=":
		return []limit{{">=", v}}, true
	case operator == "<":
		return []limit{{"<", version{v.numbers, []string{"0"}}}}, true
	case operator == "<=":
		return []limit{{"<", v.next(n)}}, true
	}
	return []limit{{">=", v}, {"<", v.next(n)}}, true
}
