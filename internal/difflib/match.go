package difflib

import "sort"

// A match is a run of equal lines: size lines from line a of one text and line b of the other.
type match struct{ a, b, size int }

// A matcher searches for runs of equal lines.
type matcher struct {
	a, b  []int         // lines, as numbers
	where map[int][]int // positions of a line in b
}

// manyLines is the length of a text from which frequent lines are left out of the search.
const manyLines = 200

func newMatcher(a, b []string) *matcher {
	numbers := map[string]int{}
	m := &matcher{a: numbered(numbers, a), b: numbered(numbers, b), where: map[int][]int{}}
	for j, line := range m.b {
		m.where[line] = append(m.where[line], j)
	}
	if n := len(b); n >= manyLines {
		for line, places := range m.where {
			if len(places) > n/100+1 {
				delete(m.where, line)
			}
		}
	}
	return m
}

func numbered(numbers map[string]int, lines []string) []int {
	out := make([]int, len(lines))
	for i, line := range lines {
		n, ok := numbers[line]
		if !ok {
			n = len(numbers)
			numbers[line] = n
		}
		out[i] = n
	}
	return out
}

// matches returns all runs in order, with adjacent ones joined.
func matches(a, b []string) []match {
	m := newMatcher(a, b)
	var found []match
	for pending := []span{{0, len(a), 0, len(b)}}; len(pending) > 0; {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		x := m.longest(s)
		if x.size == 0 {
			continue
		}
		found = append(found, x)
		if s.a1 < x.a && s.b1 < x.b {
			pending = append(pending, span{s.a1, x.a, s.b1, x.b})
		}
		if x.a+x.size < s.a2 && x.b+x.size < s.b2 {
			pending = append(pending, span{x.a + x.size, s.a2, x.b + x.size, s.b2})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].a < found[j].a })
	return joined(found)
}

func joined(found []match) []match {
	var out []match
	for _, x := range found {
		if n := len(out); n > 0 && out[n-1].a+out[n-1].size == x.a &&
			out[n-1].b+out[n-1].size == x.b {
			out[n-1].size += x.size
			continue
		}
		out = append(out, x)
	}
	return out
}

// A span is a part of both texts.
type span struct{ a1, a2, b1, b2 int }

// longest returns the longest run in a span, the first of several.
func (m *matcher) longest(s span) match {
	best := match{s.a1, s.b1, 0}
	runs := map[int]int{} // length of the run that ends at each line of b
	for i := s.a1; i < s.a2; i++ {
		next := map[int]int{}
		for _, j := range m.where[m.a[i]] {
			if j < s.b1 {
				continue
			}
			if j >= s.b2 {
				break
			}
			k := runs[j-1] + 1
			next[j] = k
			if k > best.size {
				best = match{i - k + 1, j - k + 1, k}
			}
		}
		runs = next
	}
	return m.extended(best, s)
}

// extended extends a run by equal lines around it that were left out of the search.
func (m *matcher) extended(x match, s span) match {
	for x.a > s.a1 && x.b > s.b1 && m.a[x.a-1] == m.b[x.b-1] {
		x.a, x.b, x.size = x.a-1, x.b-1, x.size+1
	}
	for x.a+x.size < s.a2 && x.b+x.size < s.b2 && m.a[x.a+x.size] == m.b[x.b+x.size] {
		x.size++
	}
	return x
}
