package yaml

import (
	"bytes"
	"errors"
	"io"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"
)

// The parser requires keys in braces to be further right than the block that contains the braces.
// libyaml accepts them at any column, and maps that templates write with the filter yaml look like
// that. Such lines are moved right, which has no meaning within brackets, and the source is parsed
// again. At first all lines that look like this are moved at once. If one of them turns out not to
// be in brackets, they are moved collection by collection.

// noKeyHere is the parser's error for such a key, and for others that libyaml rejects too.
const noKeyHere = "mapping values are not allowed in this context"

// maxReread limits the bytes that are parsed again for such lines, not counting the first two
// times.
const maxReread = 16 << 20

// A moving records the changes to a source for keys that are too far left.
type moving struct {
	by      map[int]int // lines, and by how many blanks each was moved
	reread  int         // bytes
	guessed bool        // all lines that look so were moved
	before  []byte      // the source before that, until the guess has proved right
}

// outdented moves lines right if err is the parser's error about a key in one of them. It returns
// false if err has another reason.
func (p *prepared) outdented(err error, o Options) bool {
	if err != nil && p.moving.before != nil {
		p.undoGuess()
		return true
	}
	var le *yamlv4.LoadError
	if !errors.As(err, &le) || le.Message != noKeyHere {
		return false
	}
	m := *markAt(le.Mark)
	if _, before := p.moving.by[m.Line]; before || m.Line == 0 {
		return false
	}
	s := strict{src: string(p.src)}
	rest := s.at(m)
	at := len(p.src) - len(rest)
	if p.moving.reread > maxReread || !strings.HasPrefix(rest, ":") || !inFlow(p.src[:at]) {
		return false
	}
	spans := []lineSpan{{m.Line, m.Line + len(lineStarts(rest[:flowEnd(rest)])) - 1}}
	if p.moving.guessed {
		p.moving.reread += 2 * at
	} else {
		p.moving.guessed, p.moving.before = true, p.src
		spans = append(spans, flowLines(s.src, s.lines, spans[0].last+1)...)
	}
	return p.move(s.lines, spans, blockWidth(s.src)+1, 2*o.Size)
}

// undoGuess undoes a wrong guess.
func (p *prepared) undoGuess() {
	p.src, p.moving.before, p.moving.by = p.moving.before, nil, nil
}

// guessHolds reports whether all lines that were moved on a guess are in brackets of the document.
func (p *prepared) guessHolds(root *yamlv4.Node) bool {
	if p.moving.before == nil {
		return true
	}
	s := strict{src: string(p.src)}
	inside := map[int]bool{}
	flowsOf(root, func(n *yamlv4.Node) {
		m := *markOf(n)
		rest := s.at(m)
		open := max(strings.IndexAny(rest, "[{"), 0)
		for line := range len(lineStarts(rest[:open+flowEnd(rest[open:])])) - 1 {
			inside[m.Line+line+1] = true
		}
	})
	for line := range p.moving.by {
		if !inside[line] {
			p.undoGuess()
			return false
		}
	}
	p.moving.before = nil
	return true
}

// flowsOf calls yield with the outermost nodes in brackets.
func flowsOf(n *yamlv4.Node, yield func(*yamlv4.Node)) {
	if n.Kind != yamlv4.ScalarNode && n.Style&yamlv4.FlowStyle != 0 {
		yield(n)
		return
	}
	for _, child := range n.Content {
		flowsOf(child, yield)
	}
}

// A lineSpan is a range of lines, first and last.
type lineSpan struct{ first, last int }

// flowLines guesses which lines, starting with one in a block, continue a collection in brackets.
func flowLines(src string, starts []int, from int) []lineSpan {
	var spans []lineSpan
	text := -1 // the column that lines of a text under | or > are right of
	for i := from; i < len(starts); i++ {
		rest := src[starts[i]:]
		line, _, _ := strings.Cut(rest, "\n")
		begin := len(line) - len(strings.TrimLeft(line, " -"))
		switch {
		case strings.TrimSpace(line) == "" || text >= 0 && column(line) > text:
		case hasText(line):
			text = max(begin-2, column(line))
			if strings.Contains(line[begin:], ": ") {
				text = begin
			}
		default:
			text = -1
			if open := opening(line, begin); open >= 0 {
				if more := len(lineStarts(rest[open:open+flowEnd(rest[open:])])) - 1; more > 0 {
					spans = append(spans, lineSpan{i + 1, i + more})
					i += more
				}
			}
		}
	}
	return spans
}

// hasText reports whether a text under | or > may begin below a line.
func hasText(line string) bool {
	line = strings.TrimRight(line, " \r+-0123456789")
	return strings.HasSuffix(line, " |") || strings.HasSuffix(line, " >")
}

// opening returns the position in a line of a block where a collection in brackets may begin, or
// -1.
func opening(line string, begin int) int {
	if begin < len(line) && (line[begin] == '{' || line[begin] == '[') {
		return begin
	}
	for _, s := range []string{": {", ": ["} {
		if i := strings.Index(line, s); i >= 0 {
			return i + 2
		}
	}
	return -1
}

// inFlow reports whether a source ends within brackets.
func inFlow(src []byte) bool {
	loader, err := yamlv4.NewLoader(bytes.NewReader(src), yamlv4.WithUniqueKeys(false))
	if err != nil {
		return false
	}
	for {
		var n yamlv4.Node
		var le *yamlv4.LoadError
		switch err := loader.Load(&n); {
		case errors.Is(err, io.EOF):
			return false
		case errors.As(err, &le):
			return strings.HasPrefix(le.ContextMsg, "while parsing a flow ")
		case err != nil:
			return false
		}
	}
}

// blockWidth returns a column that no block collection in src begins right of.
func blockWidth(src string) int {
	width := 0
	for line := range strings.Lines(src) {
		width = max(width, len(line)-len(strings.TrimLeft(line, " -?\t")))
	}
	return width
}

// move inserts that many blanks before each of the lines, unless the source would exceed the size.
func (p *prepared) move(starts []int, spans []lineSpan, by, size int) bool {
	lines := 0
	for _, s := range spans {
		lines += s.last - s.first + 1
	}
	if len(p.src)+by*lines > size {
		p.moving.before = nil
		return false
	}
	if p.moving.by == nil {
		p.moving.by = map[int]int{}
	}
	blanks := bytes.Repeat([]byte(" "), by)
	out, done := make([]byte, 0, len(p.src)+by*lines), 0
	for _, s := range spans {
		for i := s.first; i <= s.last && i < len(starts); i++ {
			out = append(out, p.src[done:starts[i]]...)
			done = starts[i]
			if line, _, _ := bytes.Cut(p.src[done:], []byte("\n")); len(bytes.TrimSpace(line)) > 0 {
				p.moving.by[i] += by
				out = append(out, blanks...)
			}
		}
	}
	p.src = append(out, p.src[done:]...)
	return true
}

// flowEnd returns the position in rest, which starts within brackets, where the outermost brackets
// end.
func flowEnd(rest string) int {
	depth, i := 0, 1 // after the colon
	for i < len(rest) {
		switch c := rest[i]; c {
		case ' ', '\t', '\n', '\r', ',', ':', '?':
			i++
		case '#':
			i += strings.IndexByte(rest[i:]+"\n", '\n')
		case '"', '\'':
			i += quotedLength(rest[i:])
		case '[', '{':
			depth++
			i++
		case ']', '}':
			i++
			if depth--; depth < 0 {
				if !continues(rest[i:]) {
					return i
				}
				depth = 0
			}
		default:
			i += plainLength(rest[i:])
		}
	}
	return i
}

// continues reports whether the text after a closing bracket can only be the rest of an enclosing
// collection.
func continues(rest string) bool {
	for {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if !strings.HasPrefix(rest, "#") {
			return rest != "" && strings.IndexByte(",]}", rest[0]) >= 0
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
}

// quotedLength returns the length of the quoted text at the beginning of s.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[0] == '"' && s[i] == '\\':
			i++
		case s[i] == s[0] && s[0] == '\'' && strings.HasPrefix(s[i+1:], "'"):
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}

// plainLength returns the length of the unquoted text at the beginning of s, which is within
// brackets.
func plainLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case strings.IndexByte(",[]{}", c) >= 0, c == '#' && s[i-1] <= ' ':
			return i
		case c == ':' && (i+1 == len(s) || strings.IndexByte(" \t\r\n,[]{}", s[i+1]) >= 0):
			return i
		}
	}
	return len(s)
}

// restoreMark converts the marks of an error to those of the original source.
func (p *prepared) restoreMark(e *Error) *Error {
	for _, m := range []*Mark{e.ContextMark, e.ProblemMark} {
		if m != nil {
			m.Column = max(m.Column-p.moving.by[m.Line], 0)
		}
	}
	return e
}

// restoreMarks does the same for all nodes of a tree.
func (p *prepared) restoreMarks(n *yamlv4.Node) {
	if len(p.moving.by) == 0 {
		return
	}
	n.Column = max(n.Column-p.moving.by[n.Line-1], 1)
	for _, child := range n.Content {
		p.restoreMarks(child)
	}
}
