// Package difflib compares two texts line by line, as Python's module difflib does: Unified has
// exactly the output of unified_diff, for diffs in the changes of states.
//
// The matches are those of Python's SequenceMatcher. It searches the longest run of equal lines and
// then continues on both sides of it. In texts of 200 lines and more it ignores lines that make up
// more than a hundredth of them.
package difflib

import (
	"strconv"
	"strings"
)

// context is the number of equal lines around a change.
const context = 3

// Unified returns the unified diff of two texts as lines, or nothing if they are equal. Lines
// include their ends; those of headers and ranges end in end, usually a line feed. from and to are
// the names in the headers.
func Unified(a, b []string, from, to, end string) []string {
	return Around(a, b, context, from, to, end)
}

// Around is Unified with n equal lines around a change instead of three.
func Around(a, b []string, n int, from, to, end string) []string {
	var out []string
	for _, group := range groups(opcodes(a, b), n) {
		if out == nil {
			out = append(out, "--- "+from+end, "+++ "+to+end)
		}
		first, last := group[0], group[len(group)-1]
		out = append(out, "@@ -"+extent(first.a1, last.a2)+" +"+extent(first.b1, last.b2)+" @@"+end)
		for _, op := range group {
			out = op.appendTo(out, a, b)
		}
	}
	return out
}

// Text returns the unified diff of two texts without names, as one text.
func Text(a, b []string) string { return strings.Join(Unified(a, b, "", "", "\n"), "") }

func extent(start, stop int) string {
	n := stop - start
	switch n {
	case 1:
		return strconv.Itoa(start + 1)
	case 0:
		return strconv.Itoa(start) + ",0"
	}
	return strconv.Itoa(start+1) + "," + strconv.Itoa(n)
}

// An opcode replaces lines a1 to a2 (exclusive) of one text by b1 to b2 of the other.
type opcode struct {
	equal          bool
	a1, a2, b1, b2 int
}

func (op opcode) appendTo(out, a, b []string) []string {
	if op.equal {
		return prefixed(out, " ", a[op.a1:op.a2])
	}
	return prefixed(prefixed(out, "-", a[op.a1:op.a2]), "+", b[op.b1:op.b2])
}

func prefixed(out []string, prefix string, lines []string) []string {
	for _, line := range lines {
		out = append(out, prefix+line)
	}
	return out
}

// opcodes returns all steps from a to b.
func opcodes(a, b []string) []opcode {
	var ops []opcode
	i, j := 0, 0
	for _, m := range append(matches(a, b), match{len(a), len(b), 0}) {
		if i < m.a || j < m.b {
			ops = append(ops, opcode{false, i, m.a, j, m.b})
		}
		i, j = m.a+m.size, m.b+m.size
		if m.size > 0 {
			ops = append(ops, opcode{true, m.a, i, m.b, j})
		}
	}
	return ops
}

// groups groups the steps into nearby changes, with context equal lines around them.
func groups(ops []opcode, context int) [][]opcode {
	if len(ops) == 0 {
		return nil
	}
	ops = append([]opcode(nil), ops...)
	if first := &ops[0]; first.equal {
		first.a1, first.b1 = max(first.a1, first.a2-context), max(first.b1, first.b2-context)
	}
	if last := &ops[len(ops)-1]; last.equal {
		last.a2, last.b2 = min(last.a2, last.a1+context), min(last.b2, last.b1+context)
	}
	var all [][]opcode
	var group []opcode
	for _, op := range ops {
		if op.equal && op.a2-op.a1 > 2*context {
			group = append(group, opcode{true, op.a1, min(op.a2, op.a1+context), op.b1,
				min(op.b2, op.b1+context)})
			all = append(all, group)
			group = nil
			op.a1, op.b1 = max(op.a1, op.a2-context), max(op.b1, op.b2-context)
		}
		group = append(group, op)
	}
	if len(group) > 1 || len(group) == 1 && !group[0].equal {
		all = append(all, group)
	}
	return all
}
