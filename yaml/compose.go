package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	yamlv4 "go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// compose parses the single document of src; nil is an empty one.
func compose(src []byte, o Options) (*node, error) {
	if len(src) > o.Size {
		return nil, &Error{Problem: fmt.Sprintf("the source has %d bytes; the limit is %d",
			len(src), o.Size)}
	}
	if err := readable(src); err != nil {
		return nil, err
	}
	if n := upperNodes(src); n > o.Nodes {
		return nil, &Error{Problem: fmt.Sprintf("the source may hold %d nodes; the limit is %d", n,
			o.Nodes)}
	}
	p := prepare(src)
	root, err := p.single(o)
	if err != nil || root == nil {
		return nil, err
	}
	c := converter{slash: p.slash, done: map[*yamlv4.Node]*node{}, strict: strict{src: string(src)}}
	n := c.node(root)
	if c.strict.err != nil {
		return nil, c.strict.err
	}
	return n, nil
}

// A prepared is a source in which constructs that libyaml accepts but the parser rejects have been
// rewritten. Each keeps its number of characters, except for lines that were moved, see outdented.
type prepared struct {
	src   []byte
	slash string // replaces \/ in double quotes; "" if there is none

	comments int // removed comments

	moving moving // lines moved to the right
}

func prepare(src []byte) *prepared {
	p := &prepared{src: src}
	if bytes.HasPrefix(bytes.TrimPrefix(src, []byte("\uFEFF")), []byte("%YAML 1.2")) {
		p.src = bytes.Replace(src, []byte("%YAML 1.2"), []byte("%YAML 1.1"), 1)
	}
	if bytes.Contains(src, []byte(`\/`)) {
		p.slash = unused(src)
		p.src = markSlashes(p.src, p.slash)
	}
	return p
}

// unused returns two characters of Unicode's private planes that do not occur next to each other in
// src.
func unused(src []byte) string {
	for r := rune(0xF0000); ; r++ {
		if s := string([]rune{r, r}); !bytes.Contains(src, []byte(s)) {
			return s
		}
	}
}

// markSlashes replaces each \/ whose backslash is not itself escaped.
func markSlashes(src []byte, mark string) []byte {
	out := make([]byte, 0, len(src)+64)
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] == '\\' && i+1 < len(src) && src[i+1] == '/':
			out = append(out, mark...)
			i++
		case src[i] == '\\' && i+1 < len(src) && src[i+1] == '\\':
			out = append(out, '\\', '\\')
			i++
		default:
			out = append(out, src[i])
		}
	}
	return out
}

// single parses the document and makes sure that it is the only one.
func (p *prepared) single(o Options) (root *yamlv4.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the parser's own "please report" panics
			root, err = nil, &Error{Problem: fmt.Sprintf("the parser failed: %v", r)}
		}
	}()
	depth := loaderlimits.New(loaderlimits.DepthValue(o.Depth), loaderlimits.AliasNone())
	loader, err := yamlv4.NewLoader(bytes.NewReader(p.src), yamlv4.WithPlugin(depth),
		yamlv4.WithUniqueKeys(false))
	if err != nil {
		return nil, fmt.Errorf("set up the parser: %w", err)
	}
	var first, second yamlv4.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case p.blankComment(err), p.outdented(err, o):
		return p.single(o)
	case err != nil:
		return nil, p.restoreMark(p.within(p.earlier(p.noColon(translate(err)))))
	}
	root = content(&first)
	if !p.guessHolds(root) {
		return p.single(o)
	}
	p.restoreMarks(root)
	if err := loader.Load(&second); errors.Is(err, io.EOF) {
		return root, nil
	} else if err != nil {
		return nil, p.restoreMark(translate(err))
	}
	return nil, another(root, &second)
}

// maxComments limits how often a source is parsed again for a comment directly after a bracket or
// comma.
const maxComments = 50

// blankComment removes such a comment, which libyaml accepts, from the source. It returns false if
// err has another reason.
func (p *prepared) blankComment(err error) bool {
	var le *yamlv4.LoadError
	if !errors.As(err, &le) || le.Message != "found a comment without preceding whitespace" ||
		p.comments == maxComments {
		return false
	}
	s := strict{src: string(p.src)}
	rest := s.at(*markAt(le.Mark))
	if !strings.HasPrefix(rest, "#") {
		return false
	}
	end := strings.IndexFunc(rest, isBreak)
	if end < 0 {
		end = len(rest)
	}
	at := len(p.src) - len(rest)
	p.src = slices.Concat(p.src[:at], bytes.Repeat([]byte(" "), end), p.src[at+end:])
	p.comments++
	return true
}

func content(doc *yamlv4.Node) *yamlv4.Node {
	if doc.Kind == yamlv4.DocumentNode && len(doc.Content) == 1 {
		return doc.Content[0]
	}
	return doc
}

func another(first, second *yamlv4.Node) error {
	return &Error{
		Context: "expected a single document in the stream", ContextMark: markOf(first),
		Problem: "but found another document", ProblemMark: markOf(second),
	}
}

func markOf(n *yamlv4.Node) *Mark {
	return &Mark{Line: max(n.Line-1, 0),
		Column: max(n.Column-1, 0)}
}

// translate converts an error of the parser to libyaml's words.
func translate(err error) *Error {
	var le *yamlv4.LoadError
	if !errors.As(err, &le) {
		return &Error{Problem: err.Error()}
	}
	e := &Error{Context: le.ContextMsg, Problem: le.Message, ProblemMark: markAt(le.Mark)}
	if e.Context != "" {
		e.ContextMark = markAt(le.ContextMark)
	}
	if strings.HasPrefix(e.Problem, "unknown anchor") {
		return undefined(e)
	}
	e.Context, e.Problem = reworded(e.Context, e.Problem)
	return e
}

// reworded replaces the parser's texts that differ from libyaml's.
func reworded(context, problem string) (string, string) {
	switch {
	case problem == "did not find expected hexadecimal number":
		return "while parsing a quoted scalar", "did not find expected hexdecimal number"
	case context == "while scanning a quoted scalar" && strings.Contains(problem, "escape"):
		return "while parsing a quoted scalar", problem
	case context == "while parsing a tag" && strings.HasPrefix(problem, "found character"):
		return "while scanning a tag", "did not find expected whitespace or line break"
	}
	return context, problem
}

// undefined returns the error of an alias without an anchor, or of an invalid alias name.
func undefined(e *Error) *Error {
	_, name, _ := strings.Cut(e.Problem, "'")
	name, _, _ = strings.Cut(name, "' referenced")
	if good := nameLength(name); good < len(name) &&
		!strings.ContainsRune("?:,]}%@`", rune(name[good])) {
		return badName("while scanning an alias", *e.ProblemMark, good)
	}
	e.Problem = "found undefined alias"
	return e
}

func markAt(m yamlv4.Mark) *Mark {
	return &Mark{Line: max(m.Line-1, 0),
		Column: max(m.Column-1, 0)}
}

// readable rejects what libyaml's reader rejects: bytes that are not UTF-8, and control characters.
func readable(src []byte) error {
	line, start := 0, 0
	for i := 0; i < len(src); {
		r, size := rune(src[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(src[i:])
		}
		if r == utf8.RuneError && size == 1 {
			return unreadable(src, i, line, start,
				fmt.Sprintf("invalid UTF-8: byte 0x%02x", src[i]))
		}
		if !printable(r) {
			return unreadable(src, i, line, start,
				fmt.Sprintf("unacceptable character #x%04x: control characters are not allowed", r))
		}
		i += size
		if r == '\n' {
			line, start = line+1, i
		}
	}
	return nil
}

func unreadable(src []byte, at, line, start int, problem string) error {
	m := Mark{Line: line, Column: utf8.RuneCount(src[start:at])}
	return &Error{Problem: problem, ProblemMark: &m, Position: at, unreadable: true}
}

func printable(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0x7E || r == 0x85 ||
		r >= 0xA0 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000
}

// upperNodes returns an upper limit for the nodes in src: each needs its own separator.
func upperNodes(src []byte) int {
	n, flow := 1, 0
	for i, c := range src {
		switch c {
		case '[', '{':
			flow = 1
			n += 2
		case ',':
			n += 2 * flow
		case ':', '?', '-':
			if flow == 1 || i+1 == len(src) || src[i+1] <= ' ' {
				n++
			}
		}
	}
	return n
}

// A converter converts the parser's nodes; done keeps shared ones shared.
type converter struct {
	slash string
	done  map[*yamlv4.Node]*node
	strict
}

func (c *converter) node(y *yamlv4.Node) *node {
	if y.Kind == yamlv4.AliasNode {
		y = y.Alias
	}
	if n, ok := c.done[y]; ok {
		return n
	}
	n := &node{mark: *markOf(y)}
	if y.Anchor != "" {
		c.anchor(y)
	}
	if y.Anchor != "" || y.Kind != yamlv4.ScalarNode {
		c.done[y] = n
	}
	c.fill(n, y)
	return n
}

func (c *converter) fill(n *node, y *yamlv4.Node) {
	switch y.Kind {
	case yamlv4.SequenceNode:
		n.kind, n.tag = sequenceKind, explicit(y, seqTag)
		n.items = make([]*node, len(y.Content))
		for i, child := range y.Content {
			n.items[i] = c.node(child)
		}
	case yamlv4.MappingNode:
		n.kind, n.tag = mappingKind, explicit(y, mapTag)
		n.pairs = make([]pair, len(y.Content)/2)
		for i := range n.pairs {
			if y.Style&yamlv4.FlowStyle == 0 {
				c.key(n.mark, y.Content[2*i], i == 0)
			}
			n.pairs[i] = pair{c.node(y.Content[2*i]), c.node(y.Content[2*i+1])}
		}
	default:
		n.value = c.text(y)
		n.tag = explicit(y, "")
		if n.tag == "" {
			n.tag = implicit(y, n.value)
		}
	}
}

// text returns the value of a scalar with the slashes that prepare replaced.
func (c *converter) text(y *yamlv4.Node) string {
	switch {
	case c.slash == "":
		return y.Value
	case y.Style&yamlv4.DoubleQuotedStyle != 0:
		return strings.ReplaceAll(y.Value, c.slash, "/")
	}
	return strings.ReplaceAll(y.Value, c.slash, `\/`)
}

// explicit returns the full form of a written tag, or otherwise.
func explicit(y *yamlv4.Node, otherwise string) string {
	if y.Style&yamlv4.TaggedStyle == 0 {
		return otherwise
	}
	if short, ok := strings.CutPrefix(y.Tag, "!!"); ok {
		return tagPrefix + short
	}
	return y.Tag
}

func implicit(y *yamlv4.Node, value string) string {
	const quoted = yamlv4.SingleQuotedStyle | yamlv4.DoubleQuotedStyle | yamlv4.LiteralStyle | yamlv4.FoldedStyle
	if y.Style&quoted != 0 || y.Tag == "!" && value == "" {
		return strTag
	}
	return resolve(value)
}
