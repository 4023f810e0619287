package yaml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An emitter writes nodes as libyaml's emitter does; the names are those of libyaml's emitter.c.
type emitter struct {
	buf        []byte
	start, end bool // of a document, explicit
	ascii      bool
	step       int // columns per level
	width      int

	column     int
	indent     int // -1 before the first
	flowLevel  int
	whitespace bool // the last character written was white
	indention  bool // this line contains only indentation and its indicators

	inMapping bool // the node being written is a key or value
	simpleKey bool // it is a key on one line
}

func (e *emitter) document(root *out) {
	if e.start {
		e.indicator("---", true, false, false)
	}
	e.node(root, false, false)
	e.writeIndent()
	if e.end {
		e.indicator("...", true, false, false)
		e.writeIndent()
	}
}

func (e *emitter) node(n *out, mapping, simpleKey bool) {
	e.inMapping, e.simpleKey = mapping, simpleKey
	if n.anchor != "" {
		if n.seen {
			e.alias(n)
			return
		}
		n.seen = true
	}
	switch n.kind {
	case scalarKind:
		e.scalar(n)
	case sequenceKind:
		e.anchor(n)
		e.sequence(n)
	case mappingKind:
		e.anchor(n)
		e.mapping(n)
	}
}

func (e *emitter) alias(n *out) {
	e.indicator("*", true, false, false)
	e.put(n.anchor)
	if e.simpleKey {
		e.put(" ")
	}
}

func (e *emitter) anchor(n *out) {
	if n.anchor != "" {
		e.indicator("&", true, false, false)
		e.put(n.anchor)
		e.whitespace, e.indention = false, false
	}
}

func (e *emitter) sequence(n *out) {
	if e.flowLevel > 0 || n.flow || len(n.children) == 0 {
		e.flow("[", "]", func() { e.flowItems(n) })
		return
	}
	defer e.deeper(false, e.inMapping && !e.indention)()
	for _, c := range n.children {
		e.writeIndent()
		e.indicator("-", true, false, true)
		e.node(c, false, false)
	}
}

func (e *emitter) flow(open, shut string, content func()) {
	e.indicator(open, true, true, false)
	back := e.deeper(true, false)
	e.flowLevel++
	content()
	e.flowLevel--
	back()
	e.indicator(shut, false, false, false)
}

func (e *emitter) flowItems(n *out) {
	for i, c := range n.children {
		e.separate(i > 0)
		e.node(c, false, false)
	}
}

// separate begins an entry of a flow collection.
func (e *emitter) separate(comma bool) {
	if comma {
		e.indicator(",", false, false, false)
	}
	e.fold()
}

func (e *emitter) fold() {
	if e.column > e.width {
		e.writeIndent()
	}
}

func (e *emitter) mapping(n *out) {
	if e.flowLevel > 0 || n.flow || len(n.children) == 0 {
		e.flow("{", "}", func() { e.flowPairs(n) })
		return
	}
	defer e.deeper(false, false)()
	for i := 0; i < len(n.children); i += 2 {
		e.writeIndent()
		key, value := n.children[i], n.children[i+1]
		if e.isSimple(key) {
			e.node(key, true, true)
			e.indicator(":", false, false, false)
		} else {
			e.indicator("?", true, false, true)
			e.node(key, true, false)
			e.writeIndent()
			e.indicator(":", true, false, true)
		}
		e.node(value, true, false)
	}
}

func (e *emitter) flowPairs(n *out) {
	for i := 0; i < len(n.children); i += 2 {
		e.separate(i > 0)
		key, value := n.children[i], n.children[i+1]
		if e.isSimple(key) {
			e.node(key, true, true)
			e.indicator(":", false, false, false)
		} else {
			e.indicator("?", true, false, false)
			e.node(key, true, false)
			e.fold()
			e.indicator(":", true, false, false)
		}
		e.node(value, true, false)
	}
}

// isSimple reports whether a key fits before its colon.
func (e *emitter) isSimple(n *out) bool {
	const most = 128
	switch {
	case n.anchor != "" && n.seen:
		return len(n.anchor) <= most
	case n.kind != scalarKind:
		return len(n.children) == 0
	}
	a := analyse(n.value, e.ascii)
	return !a.multiline && len(n.value)+len(n.anchor)+len(e.tagText(n)) <= most
}

// deeper goes one level deeper and returns a function that goes back.
func (e *emitter) deeper(flow, indentless bool) func() {
	was := e.indent
	switch {
	case e.indent >= 0 && !indentless:
		e.indent += e.step
	case e.indent < 0 && flow:
		e.indent = e.step
	case e.indent < 0:
		e.indent = 0
	}
	return func() { e.indent = was }
}

// tagText returns the tag of a scalar if it must be written, or "".
func (e *emitter) tagText(n *out) string {
	if n.tag == strTag || n.tag == resolve(n.value) {
		return ""
	}
	return "!!" + strings.TrimPrefix(n.tag, tagPrefix)
}

func (e *emitter) scalar(n *out) {
	a := analyse(n.value, e.ascii)
	tag := e.tagText(n)
	style := e.style(n, a, tag)
	e.anchor(n)
	if tag == "" && n.tag != strTag && style != plain {
		tag = "!" // a date in quotes must not be read as text
	}
	if tag != "" {
		e.indicator(tag, true, false, false)
	}
	defer e.deeper(true, false)()
	switch style {
	case plain:
		e.plain(n.value)
	case single:
		e.single(n.value)
	case double:
		e.double(n.value)
	case literal:
		e.literal(n.value)
	}
}

type style int

const (
	plain style = iota
	single
	double
	literal
)

// style chooses the style of a scalar (yaml_emitter_select_scalar_style).
func (e *emitter) style(n *out, a analysis, tag string) style {
	s := plain
	if n.literal {
		s = literal
	}
	if e.simpleKey && a.multiline {
		return double
	}
	if s == plain && !e.plainAllowed(n, a, tag) {
		s = single
	}
	if s == single && !a.single || s == literal && (!a.block || e.flowLevel > 0 || e.simpleKey) {
		s = double
	}
	return s
}

func (e *emitter) plainAllowed(n *out, a analysis, tag string) bool {
	switch {
	case e.flowLevel > 0 && !a.flowPlain, e.flowLevel == 0 && !a.blockPlain:
		return false
	case n.value == "" && (e.flowLevel > 0 || e.simpleKey):
		return false
	}
	return tag != "" || resolve(n.value) == n.tag
}

// An analysis lists the styles in which a text can be written.
type analysis struct {
	multiline, flowPlain, blockPlain, single, block bool
}

// analyse is yaml_emitter_analyze_scalar.
func analyse(s string, ascii bool) analysis {
	if s == "" {
		return analysis{blockPlain: true, single: true}
	}
	block, flow := indicators(s)
	w := whites(s)
	special := strings.ContainsFunc(s, func(r rune) bool { return mustEscape(r, ascii) })
	a := analysis{multiline: w.breaks, flowPlain: true, blockPlain: true, single: true, block: true}
	if w.leading || w.trailing || w.breaks {
		a.flowPlain, a.blockPlain = false, false
	}
	if w.trailingSpace {
		a.block = false
	}
	if w.breakSpace {
		a.flowPlain, a.blockPlain, a.single = false, false, false
	}
	if w.spaceBreak || special {
		a.flowPlain, a.blockPlain, a.single, a.block = false, false, false, false
	}
	a.flowPlain = a.flowPlain && !flow
	a.blockPlain = a.blockPlain && !block
	return a
}

// indicators reports whether s contains text that would be syntax in block style and in flow style.
func indicators(s string) (block, flow bool) {
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		block, flow = true, true
	}
	before := true // white
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		next, _ := utf8.DecodeRuneInString(rest)
		after := rest == "" || isBlank(next)
		b, f := indicator(r, i == 0, before, after)
		block, flow = block || b, flow || f
		before = isBlank(r)
	}
	return block, flow
}

func indicator(r rune, first, before, after bool) (block, flow bool) {
	if !first {
		switch r {
		case ',', '?', '[', ']', '{', '}':
			return false, true
		case ':':
			return after, true
		case '#':
			return before, before
		}
		return false, false
	}
	switch r {
	case '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return true, true
	case '?', ':':
		return after, true
	case '-':
		return after, after
	}
	return false, false
}

// whitespace records where a text has spaces and line breaks.
type whitespace struct {
	leading, trailing, trailingSpace, breaks, breakSpace, spaceBreak bool
}

func whites(s string) whitespace {
	var w whitespace
	var last rune
	for i, r := range s {
		final := i+utf8.RuneLen(r) == len(s)
		if r != ' ' && !isBreak(r) {
			last = r
			continue
		}
		w.leading = w.leading || i == 0
		w.trailing = w.trailing || final
		if r == ' ' {
			w.trailingSpace = w.trailingSpace || final
			w.breakSpace = w.breakSpace || i > 0 && isBreak(last)
		} else {
			w.breaks = true
			w.spaceBreak = w.spaceBreak || last == ' '
		}
		last = r
	}
	return w
}

func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == 0 || isBreak(r) }

// mustEscape reports whether r can only be written in double quotes as an escape; for libyaml these
// include everything beyond the basic plane.
func mustEscape(r rune, ascii bool) bool {
	switch {
	case r == '\n', r >= 0x20 && r <= 0x7E:
		return false
	case r < 0xA0, ascii:
		return true
	}
	return r == 0xFEFF || r >= 0xFFFE
}

func (e *emitter) put(s string) {
	e.buf = append(e.buf, s...)
	e.column += utf8.RuneCountInString(s)
}

func (e *emitter) putBreak() {
	e.buf = append(e.buf, '\n')
	e.column = 0
}

// writeBreak writes a line break of the text.
func (e *emitter) writeBreak(r rune) {
	if r == '\n' {
		e.putBreak()
		return
	}
	e.buf = utf8.AppendRune(e.buf, r)
	e.column = 0
}

func (e *emitter) writeIndent() {
	indent := max(e.indent, 0)
	if !e.indention || e.column > indent || e.column == indent && !e.whitespace {
		e.putBreak()
	}
	for e.column < indent {
		e.put(" ")
	}
	e.whitespace, e.indention = true, true
}

func (e *emitter) indicator(s string, needsSpace, isSpace, isIndention bool) {
	if needsSpace && !e.whitespace {
		e.put(" ")
	}
	e.put(s)
	e.whitespace = isSpace
	e.indention = e.indention && isIndention
}

func (e *emitter) plain(s string) {
	if !e.whitespace && (s != "" || e.flowLevel > 0) {
		e.put(" ")
	}
	e.text(s, false, func(r rune) { e.put(string(r)) })
	e.whitespace, e.indention = false, false
}

func (e *emitter) single(s string) {
	e.indicator("'", true, false, false)
	breaks := e.text(s, true, func(r rune) {
		if r == '\'' {
			e.put("'")
		}
		e.put(string(r))
	})
	if breaks {
		e.writeIndent()
	}
	e.indicator("'", false, false, false)
	e.whitespace, e.indention = false, false
}

// text writes s, folding it at spaces and doubling the first of its line breaks, and reports
// whether it ends in a break. With inner it does not fold at the first and last characters.
func (e *emitter) text(s string, inner bool, put func(rune)) (breaks bool) {
	spaces := false
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case r == ' ':
			edge := inner && (i == 0 || rest == "")
			if !e.simpleKey && !spaces && e.column > e.width && !edge &&
				!strings.HasPrefix(rest, " ") {
				e.writeIndent()
			} else {
				e.put(" ")
			}
			spaces = true
		case isBreak(r):
			if !breaks && r == '\n' {
				e.putBreak()
			}
			e.writeBreak(r)
			e.indention, breaks = true, true
		default:
			if breaks {
				e.writeIndent()
			}
			put(r)
			e.indention, spaces, breaks = false, false, false
		}
	}
	return breaks
}

func (e *emitter) double(s string) {
	e.indicator(`"`, true, false, false)
	spaces := false
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case mustEscape(r, e.ascii) || isBreak(r) || r == '"' || r == '\\':
			e.put(escape(r))
			spaces = false
		case r == ' ':
			if !e.simpleKey && !spaces && e.column > e.width && i > 0 && rest != "" {
				e.writeIndent()
				if strings.HasPrefix(rest, " ") {
					e.put(`\`)
				}
			} else {
				e.put(" ")
			}
			spaces = true
		default:
			e.put(string(r))
			spaces = false
		}
	}
	e.indicator(`"`, false, false, false)
	e.whitespace, e.indention = false, false
}

func escape(r rune) string {
	const names = "\x00" + `0` + "\a" + `a` + "\b" + `b` + "\t" + `t` + "\n" + `n` + "\v" + `v` +
		"\f" + `f` + "\r" + `r` +
		"\x1b" + `e` + `""\\` + "\u0085" + `N` + "\u00a0" + `_` + "\u2028" + `L` + "\u2029" + `P`
	pairs := []rune(names)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == r {
			return `\` + string(pairs[i+1])
		}
	}
	switch {
	case r <= 0xFF:
		return fmt.Sprintf(`\x%02X`, r)
	case r <= 0xFFFF:
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\U%08X`, r)
}

// literal writes a block scalar; those of Dump are base64, which needs no hints.
func (e *emitter) literal(s string) {
	e.indicator("|", true, false, false)
	e.putBreak()
	e.indention, e.whitespace = true, true
	for line := range strings.Lines(s) {
		e.writeIndent()
		e.put(strings.TrimSuffix(line, "\n"))
		e.indention, e.whitespace = false, false
		e.putBreak()
		e.indention, e.whitespace = true, true
	}
}
