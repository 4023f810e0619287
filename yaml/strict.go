package yaml

import (
	"errors"
	"strings"
	"unicode/utf8"

	yamlv4 "go.yaml.in/yaml/v4"
)

// A strict rejects what the parser accepts and libyaml does not: a mapping without its first key,
// keys of more than 1024 characters, and anchor names with characters other than letters, digits, _
// and -.
type strict struct {
	src   string
	lines []int // start of each line; computed when first needed
	err   *Error
}

// at returns the source from m on.
func (s *strict) at(m Mark) string {
	if s.lines == nil {
		s.lines = lineStarts(s.src)
	}
	if m.Line >= len(s.lines) {
		return ""
	}
	rest := s.src[s.lines[m.Line]:]
	for range m.Column {
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	return rest
}

func lineStarts(src string) []int {
	starts := []int{0}
	if strings.HasPrefix(src, "\uFEFF") {
		starts[0] = len("\uFEFF")
	}
	for i, r := range src {
		if isBreak(r) && !(r == '\r' && strings.HasPrefix(src[i+1:], "\n")) {
			starts = append(starts, i+utf8.RuneLen(r))
		}
	}
	return starts
}

func (s *strict) fail(e *Error) {
	if s.err == nil {
		s.err = e
	}
}

// key checks the key of a block mapping at in.
func (s *strict) key(in Mark, key *yamlv4.Node, first bool) {
	m := *markOf(key)
	switch {
	case key.Kind != yamlv4.ScalarNode || key.Anchor != "" || key.Style&yamlv4.TaggedStyle != 0:
	case key.Value == "" && key.Style == 0:
		if strings.HasPrefix(s.at(m), ":") {
			s.fail(faultIn("while parsing a block mapping", in, m, "did not find expected key"))
		}
	case len(key.Value) > maxKey:
		s.length(m, key, first)
	}
}

// maxKey is the number of characters in which libyaml searches for the colon of a key.
const maxKey = 1024

func (s *strict) length(m Mark, key *yamlv4.Node, first bool) {
	width := utf8.RuneCountInString(key.Value)
	if key.Style != 0 {
		width += 2 // its quotes
	}
	colon := Mark{m.Line, m.Column + width}
	switch {
	case width <= maxKey || !strings.HasPrefix(strings.TrimLeft(s.at(colon), " "), ":"):
	case first:
		s.fail(fault(colon, "mapping values are not allowed in this context"))
	default:
		s.fail(faultIn("while scanning a simple key", m, colon, "could not find expected ':'"))
	}
}

// anchor checks the name of the anchor of y.
func (s *strict) anchor(y *yamlv4.Node) {
	good := nameLength(y.Anchor)
	if good == len(y.Anchor) {
		return
	}
	m := *markOf(y)
	before, _, _ := strings.Cut(s.at(m), "&"+y.Anchor)
	m.Column += utf8.RuneCountInString(before)
	s.fail(badName("while scanning an anchor", m, good))
}

func badName(context string, m Mark, good int) *Error {
	return faultIn(context, m, Mark{m.Line, m.Column + 1 + good},
		"did not find expected alphabetic or numeric character")
}

// nameLength returns how much of an anchor's name libyaml reads.
func nameLength(name string) int {
	const names = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-" + decimal
	return span(name, names)
}

// noColon converts an error to libyaml's: for a key without a colon, the parser reports the colon
// in lower lines that belong to the same text.
func (p *prepared) noColon(e *Error) *Error {
	if e.Problem != noKeyHere || e.ProblemMark.Line == 0 {
		return e
	}
	lines := strings.SplitAfter(string(p.src), "\n")
	if e.ProblemMark.Line >= len(lines) {
		return e
	}
	key := e.ProblemMark.Line - 1
	for key > 0 && column(lines[key]) >= column(lines[e.ProblemMark.Line]) {
		key--
	}
	at := Mark{key, column(lines[key])}
	if at.Column >= column(lines[e.ProblemMark.Line]) || hasColon(lines[key]) ||
		!follows(lines[:key], at.Column) {
		return e
	}
	e.Context, e.ContextMark, e.Problem = "while scanning a simple key", &at,
		"could not find expected ':'"
	return e
}

// earlier returns the error before the colon of a rejected key. libyaml reports that one, as it
// reads no further than necessary.
func (p *prepared) earlier(e *Error) *Error {
	if e.Problem != noKeyHere {
		return e
	}
	s := strict{src: string(p.src)}
	at := len(p.src) - len(s.at(*e.ProblemMark))
	loader, err := yamlv4.NewLoader(strings.NewReader(s.src[:at]), yamlv4.WithUniqueKeys(false))
	if err != nil {
		return e
	}
	var n yamlv4.Node
	for err == nil {
		err = loader.Load(&n)
	}
	var le *yamlv4.LoadError
	if !errors.As(err, &le) || !strings.HasPrefix(le.Message, "did not find expected ") ||
		strings.HasPrefix(le.ContextMsg, "while parsing a flow ") {
		return e
	}
	if first := translate(err); first.ProblemMark.Line <= e.ProblemMark.Line {
		return first
	}
	return e
}

// column returns where the text of a line begins; an empty line and a comment have none.
func column(line string) int {
	rest := strings.TrimLeft(line, " ")
	if strings.TrimSpace(rest) == "" || rest[0] == '#' {
		return len(line) + 1<<20
	}
	return len(line) - len(rest)
}

func hasColon(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, ": ") || strings.HasSuffix(line, ":") ||
		strings.HasPrefix(line, "- ")
}

// follows reports whether a key of the same mapping precedes: at column c, with nothing further
// left in between.
func follows(lines []string, c int) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		switch have := column(lines[i]); {
		case have < c:
			return false
		case have == c:
			return hasColon(lines[i]) && !strings.HasPrefix(lines[i][c:], "- ")
		}
	}
	return false
}

// within moves a mark after the last line to the end of that line.
func (p *prepared) within(e *Error) *Error {
	starts := lineStarts(string(p.src))
	if last := len(starts) - 1; e.ProblemMark.Line > last {
		e.ProblemMark = &Mark{last, utf8.RuneCount(p.src[starts[last]:])}
	}
	return e
}
