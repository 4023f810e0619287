package yaml

import (
	"bytes"
	"errors"
	"io"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"
)

// The parser wants keys in braces further right than the block that holds the braces; libyaml reads them at any column, and
// maps that templates write with the filter yaml stand so. Such lines are moved right, which means nothing within brackets, and
// the source is read again: all that look so at once, and when one of them turns out to stand in no brackets, collection by
// collection.

// noKeyHere is how the parser refuses such a key, and others that libyaml refuses too.
const noKeyHere = "mapping values are not allowed in this context"

// mostReread bounds the bytes that are read again for such lines, but for the first two times.
const mostReread = 16 << 20

// A moving is what was done to a source for keys that stand too far left.
type moving struct {
	by      map[int]int // lines, and by how many blanks each was moved
	reread  int         // bytes
	guessed bool        // all lines that look so were moved
	before  []byte      // the source before that, until the guess has proved right
}

// outdented moves lines right when err is the parser's about a key in one of them; false: it is something else.
func (p *prepared) outdented(err error, o Options) bool {
	if err != nil && p.moving.before != nil {
		p.takeBack()
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
	if p.moving.reread > mostReread || !strings.HasPrefix(rest, ":") || !inFlow(p.src[:at]) {
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

// takeBack forgets a guess that was wrong.
func (p *prepared) takeBack() {
	p.src, p.moving.before, p.moving.by = p.moving.before, nil, nil
}

// proved reports whether all lines that were moved on a guess stand in brackets of the document.
func (p *prepared) proved(root *yamlv4.Node) bool {
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
			p.takeBack()
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

// A lineSpan is some lines, first and last.
type lineSpan struct{ first, last int }

// flowLines guesses which lines, from one in a block on, continue what is in brackets.
func flowLines(src string, starts []int, from int) []lineSpan {
	var spans []lineSpan
	text := -1 // the column that lines of a text under | or > stand right of
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

// opening returns where a collection in brackets may begin in a line of a block, -1 where none does.
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

// move puts so many blanks before each of the lines, unless the source grows beyond a size then.
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

// flowEnd returns where, in the rest of a source from within brackets on, the outermost of them ends.
func flowEnd(rest string) int {
	depth, i := 0, 1 // behind the colon
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
				if !goesOn(rest[i:]) {
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

// goesOn reports whether what stands behind a closing bracket can only be the rest of another collection around it.
func goesOn(rest string) bool {
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

// plainLength returns the length of the text without quotes at the beginning of s, which stands within brackets.
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

// back gives the marks of an error those of the source as it was.
func (p *prepared) back(e *Error) *Error {
	for _, m := range []*Mark{e.ContextMark, e.ProblemMark} {
		if m != nil {
			m.Column = max(m.Column-p.moving.by[m.Line], 0)
		}
	}
	return e
}

// backAll does the same for all nodes of a tree.
func (p *prepared) backAll(n *yamlv4.Node) {
	if len(p.moving.by) == 0 {
		return
	}
	n.Column = max(n.Column-p.moving.by[n.Line-1], 1)
	for _, child := range n.Content {
		p.backAll(child)
	}
}
