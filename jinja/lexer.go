package jinja

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A lexer splits a source into tokens (jinja2/lexer.py). An error becomes the last token: the
// parser, which may find another error before it, then reports the first one.
type lexer struct {
	syntax Syntax
	src    string
	pos    int
	line   int
	tokens []token // tokens that the parser has not dropped yet
	last   int     // line of the last token
	starts []delimiter
	closer []byte // closing signs of open brackets, innermost last
	fresh  bool   // the last match ended a line
	failed bool
}

// A delimiter begins something other than data.
type delimiter struct {
	kind delimiterKind
	text string
	next int // its next position; -1 if there is none
}

type delimiterKind int

const (
	startComment delimiterKind = iota
	startBlock
	startVariable
	startLineStatement
	startLineComment
)

func newLexer(src string, syntax Syntax) *lexer {
	l := &lexer{syntax: syntax, src: plainLines(src, syntax.KeepTrailingNewline), line: 1,
		last: 1, fresh: true}
	l.starts = startsOf(syntax)
	for i := range l.starts {
		l.seek(i)
	}
	l.tokens = make([]token, 0, 32)
	return l
}

// more adds the tokens up to the end of the next statement or expression, at least one.
func (l *lexer) more() {
	for n := len(l.tokens); len(l.tokens) == n; {
		if l.failed || l.pos >= len(l.src) {
			// the end has no line of its own
			l.tokens = append(l.tokens, token{kind: tokEOF, line: l.last})
			return
		}
		l.root()
	}
	l.last = l.tokens[len(l.tokens)-1].line
}

func plainLines(src string, keep bool) string {
	if strings.IndexByte(src, '\r') >= 0 {
		src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	}
	if !keep {
		src = strings.TrimSuffix(src, "\n")
	}
	return src
}

// startsOf lists the delimiters in order of preference at the same position: the longer first, then
// by name from the end.
func startsOf(s Syntax) []delimiter {
	order := []delimiter{
		{startVariable, s.VariableStart, 0},
		{startLineStatement, s.LineStatementPrefix, 0},
		{startLineComment, s.LineCommentPrefix, 0},
		{startComment, s.CommentStart, 0},
		{startBlock, s.BlockStart, 0},
	}
	var used []delimiter
	for _, d := range order {
		if d.text == "" {
			continue
		}
		i := len(used)
		for i > 0 && len(used[i-1].text) < len(d.text) {
			i--
		}
		used = append(used[:i], append([]delimiter{d}, used[i:]...)...)
	}
	return used
}

// seek finds the next position of a delimiter, from the current one on.
func (l *lexer) seek(i int) {
	d := &l.starts[i]
	for from := l.pos; ; {
		at := strings.Index(l.src[from:], d.text)
		if at < 0 {
			d.next = -1
			return
		}
		at += from
		if begin, ok := l.beginOf(d.kind, at); ok {
			d.next = begin
			return
		}
		from = at + 1
	}
}

// beginOf returns where the match of a delimiter at that position begins: line statements and
// comments include the white space before them.
func (l *lexer) beginOf(kind delimiterKind, at int) (int, bool) {
	begin := at
	switch kind {
	case startLineStatement:
		for begin > l.pos && strings.IndexByte(" \t\v", l.src[begin-1]) >= 0 {
			begin--
		}
		return begin, begin == 0 || l.src[begin-1] == '\n'
	case startLineComment:
		for begin > l.pos && strings.IndexByte(" \t\v\f", l.src[begin-1]) >= 0 {
			begin--
		}
		return begin, true
	}
	return at, true
}

// root reads data and the delimiter that ends it.
func (l *lexer) root() {
	best := -1
	for i := range l.starts {
		if d := &l.starts[i]; d.next >= 0 && d.next < l.pos {
			l.seek(i)
		}
		if n := l.starts[i].next; n >= 0 && (best < 0 || n < l.starts[best].next) {
			best = i
		}
	}
	if best < 0 {
		l.data(l.src[l.pos:])
		l.pos = len(l.src)
		return
	}
	d := l.starts[best]
	text := l.src[l.pos:d.next]
	after := d.next + strings.Index(l.src[d.next:], d.text) + len(d.text)
	if d.kind == startBlock {
		if sign, end, ok := l.rawBegin(after); ok {
			l.leading(text, sign, false)
			l.line += strings.Count(l.src[l.pos+len(text):end], "\n")
			l.step(end)
			l.raw()
			return
		}
	}
	sign := l.sign(after)
	l.leading(text, sign, d.kind == startVariable)
	l.line += strings.Count(l.src[d.next:after], "\n")
	l.step(after + len(sign))
	l.enter(d.kind)
}

// step moves to pos, the end of a match.
func (l *lexer) step(pos int) {
	l.pos = pos
	l.fresh = pos > 0 && l.src[pos-1] == '\n'
}

func (l *lexer) sign(at int) string {
	if at < len(l.src) && (l.src[at] == '-' || l.src[at] == '+') {
		return l.src[at : at+1]
	}
	return ""
}

// leading emits the data before a delimiter, without the white space that the delimiter removes.
func (l *lexer) leading(text, sign string, variable bool) {
	kept := text
	switch {
	case sign == "-":
		kept = strings.TrimRightFunc(text, isSpace)
	case sign == "" && l.syntax.LStripBlocks && !variable:
		begin := strings.LastIndexByte(text, '\n') + 1
		if (begin > 0 || l.fresh) && begin < len(text) &&
			strings.TrimFunc(text[begin:], isSpace) == "" {
			l.data(text[:begin])
			l.line += strings.Count(text[begin:], "\n")
			return
		}
	}
	l.data(kept)
	l.line += strings.Count(text[len(kept):], "\n")
}

func (l *lexer) data(text string) {
	if text == "" {
		return
	}
	at := l.line
	l.line += strings.Count(text, "\n")
	if l.syntax.NewlineSequence != "\n" {
		text = strings.ReplaceAll(text, "\n", l.syntax.NewlineSequence)
	}
	l.tokens = append(l.tokens, token{kind: tokData, text: text, line: at})
}

func (l *lexer) enter(kind delimiterKind) {
	switch kind {
	case startComment:
		l.comment()
	case startLineComment:
		end := strings.IndexByte(l.src[l.pos:], '\n')
		if end < 0 {
			end = len(l.src) - l.pos
		}
		l.step(l.pos + end)
	case startVariable:
		l.code(tokVarBegin, tokVarEnd, l.variableEnd)
	case startBlock:
		l.code(tokBlockBegin, tokBlockEnd, l.blockEnd)
	case startLineStatement:
		l.code(tokBlockBegin, tokBlockEnd, l.lineEnd)
	}
}

// suffix returns the end of "+END", "-END" with the white space after it, or "END" with its line
// break, at pos.
func (l *lexer) suffix(pos int, end string, trim bool) (int, bool) {
	rest := l.src[pos:]
	switch {
	case strings.HasPrefix(rest, "+") && strings.HasPrefix(rest[1:], end):
		return pos + 1 + len(end), true
	case strings.HasPrefix(rest, "-") && strings.HasPrefix(rest[1:], end):
		return l.skipSpace(pos + 1 + len(end)), true
	case strings.HasPrefix(rest, end):
		pos += len(end)
		if trim && pos < len(l.src) && l.src[pos] == '\n' {
			pos++
		}
		return pos, true
	}
	return 0, false
}

func (l *lexer) blockEnd() (int, bool) {
	return l.suffix(l.pos, l.syntax.BlockEnd, l.syntax.TrimBlocks)
}

func (l *lexer) variableEnd() (int, bool) {
	if strings.HasPrefix(l.src[l.pos:], "+") {
		return 0, false
	}
	return l.suffix(l.pos, l.syntax.VariableEnd, false)
}

// lineEnd returns the end of a line statement: white space up to its last line break.
func (l *lexer) lineEnd() (int, bool) {
	end := l.skipSpace(l.pos)
	if end == len(l.src) {
		return end, true
	}
	at := strings.LastIndexByte(l.src[l.pos:end], '\n')
	return l.pos + at + 1, at >= 0
}

func (l *lexer) skipSpace(pos int) int {
	for pos < len(l.src) {
		r, n := rune(l.src[pos]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(l.src[pos:])
		}
		if !isSpace(r) {
			break
		}
		pos += n
	}
	return pos
}

func (l *lexer) comment() {
	for at := l.pos; ; {
		i := strings.Index(l.src[at:], l.syntax.CommentEnd)
		if i < 0 {
			if l.pos < len(l.src) {
				l.fail("Missing end of comment tag")
			}
			return
		}
		begin := at + i
		if begin > l.pos && (l.src[begin-1] == '-' || l.src[begin-1] == '+') {
			begin--
		}
		end, ok := l.suffix(begin, l.syntax.CommentEnd, l.syntax.TrimBlocks)
		if ok {
			l.line += strings.Count(l.src[l.pos:end], "\n")
			l.step(end)
			return
		}
		at += i + 1
	}
}

// rawBegin reads the rest of {% raw %} after its delimiter.
func (l *lexer) rawBegin(pos int) (sign string, end int, ok bool) {
	sign = l.sign(pos)
	pos = l.skipSpace(pos + len(sign))
	if !strings.HasPrefix(l.src[pos:], "raw") {
		return "", 0, false
	}
	pos = l.skipSpace(pos + len("raw"))
	if strings.HasPrefix(l.src[pos:], "+") {
		return "", 0, false
	}
	end, ok = l.suffix(pos, l.syntax.BlockEnd, false)
	return sign, end, ok
}

// raw reads data up to {% endraw %}.
func (l *lexer) raw() {
	for at := l.pos; ; {
		i := strings.Index(l.src[at:], l.syntax.BlockStart)
		if i < 0 {
			if l.pos < len(l.src) {
				l.fail("Missing end of raw directive")
			}
			return
		}
		begin := at + i
		after := begin + len(l.syntax.BlockStart)
		sign := l.sign(after)
		word := l.skipSpace(after + len(sign))
		if strings.HasPrefix(l.src[word:], "endraw") {
			if end, ok := l.suffix(l.skipSpace(word+len("endraw")), l.syntax.BlockEnd,
				l.syntax.TrimBlocks); ok {
				l.leading(l.src[l.pos:begin], sign, false)
				l.line += strings.Count(l.src[begin:end], "\n")
				l.step(end)
				return
			}
		}
		at = begin + 1
	}
}

// code reads tokens up to the end that ends finds. A line statement may also end with the source.
func (l *lexer) code(begin, end tokenKind, ends func() (int, bool)) {
	l.emit(begin, "", nil)
	for {
		if len(l.closer) == 0 {
			if at, ok := ends(); ok {
				l.emit(end, "", nil)
				l.line += strings.Count(l.src[l.pos:at], "\n")
				l.step(at)
				return
			}
		}
		if l.pos >= len(l.src) || !l.token() {
			return
		}
	}
}

func (l *lexer) emit(kind tokenKind, text string, value any) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, value: value, line: l.line})
}

// token reads one token of an expression, or white space.
func (l *lexer) token() bool {
	c := l.src[l.pos]
	switch {
	case c == ' ' || c == '\n' || c == '\t':
		l.space()
	case c >= '0' && c <= '9':
		return l.number()
	case c == '\'' || c == '"':
		return l.str(c)
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		l.name()
	case c >= utf8.RuneSelf || c < ' ':
		return l.other()
	default:
		return l.operator()
	}
	return true
}

func (l *lexer) space() {
	end := l.skipSpace(l.pos)
	l.line += strings.Count(l.src[l.pos:end], "\n")
	l.step(end)
}

func (l *lexer) other() bool {
	r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
	switch {
	case isSpace(r):
		l.space()
	case isWord(r):
		return l.name()
	default:
		return l.unexpected()
	}
	return true
}

func (l *lexer) name() bool {
	end := l.pos
	for end < len(l.src) {
		r, n := rune(l.src[end]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(l.src[end:])
		}
		if !isWord(r) {
			break
		}
		end += n
	}
	word := l.src[l.pos:end]
	if r, _ := utf8.DecodeRuneInString(word); r != '_' && !unicode.IsLetter(r) &&
		!unicode.Is(unicode.Nl, r) {
		return l.fail("Invalid character in identifier")
	}
	l.emit(tokName, word, nil)
	l.step(end)
	return true
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) ||
		unicode.Is(unicode.Nl, r)
}

const shortOperators = "+-/*%~[](){}><=.:|,;"

func isLongOperator(s string) bool {
	switch s {
	case "//", "**", "==", "!=", ">=", "<=":
		return true
	}
	return false
}

func (l *lexer) operator() bool {
	op := l.src[l.pos : l.pos+1]
	if l.pos+2 <= len(l.src) && isLongOperator(l.src[l.pos:l.pos+2]) {
		op = l.src[l.pos : l.pos+2]
	}
	if len(op) == 1 && strings.IndexByte(shortOperators, op[0]) < 0 {
		return l.unexpected()
	}
	if !l.bracket(op) {
		return false
	}
	l.emit(tokenKind(op), op, nil)
	l.step(l.pos + len(op))
	return true
}

func (l *lexer) bracket(op string) bool {
	switch op {
	case "(":
		l.closer = append(l.closer, ')')
	case "[":
		l.closer = append(l.closer, ']')
	case "{":
		l.closer = append(l.closer, '}')
	case ")", "]", "}":
		if len(l.closer) == 0 {
			return l.fail("unexpected '%s'", op)
		}
		want := l.closer[len(l.closer)-1]
		l.closer = l.closer[:len(l.closer)-1]
		if want != op[0] {
			return l.fail("unexpected '%s', expected '%c'", op, want)
		}
	}
	return true
}

func (l *lexer) unexpected() bool {
	r, n := utf8.DecodeRuneInString(l.src[l.pos:])
	text := string(r)
	if r == utf8.RuneError && n == 1 {
		text = l.src[l.pos : l.pos+1]
	}
	return l.fail("unexpected char %s at %d", data.Repr(text),
		utf8.RuneCountInString(l.src[:l.pos]))
}

func (l *lexer) fail(format string, args ...any) bool {
	e := &Error{Kind: SyntaxError, Message: fmt.Sprintf(format, args...), Line: l.line}
	l.tokens = append(l.tokens, token{kind: tokError, value: e, line: l.line})
	l.failed = true
	return false
}

// number reads a float if there is one, otherwise an integer.
func (l *lexer) number() bool {
	if end := l.float(); end > 0 {
		f, err := strconv.ParseFloat(strings.ReplaceAll(l.src[l.pos:end], "_", ""), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return l.fail("invalid number")
		}
		l.emit(tokFloat, l.src[l.pos:end], f)
		l.step(end)
		return true
	}
	end := l.integer()
	text := l.src[l.pos:end]
	if len(text) > maxDigits {
		return l.fail("Exceeds the limit (4300 digits) for integer string conversion: value has %d digits; use sys.set_int_max_str_digits() to increase the limit", len(text))
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), 0)
	if !ok {
		n = new(big.Int)
	}
	l.emit(tokInteger, text, normal(n))
	l.step(end)
	return true
}

// digits returns the end of digits with single underscores between them, from pos; pos itself if
// there are none.
func (l *lexer) digits(pos int, in string) int {
	end := pos
	for i := pos; i < len(l.src); i++ {
		if strings.IndexByte(in, l.src[i]) >= 0 {
			end = i + 1
		} else if l.src[i] != '_' || end != i || i == pos {
			break
		}
	}
	return end
}

const decimal = "0123456789"

// float returns the end of a float at the current position, or 0.
func (l *lexer) float() int {
	if l.pos > 0 && l.src[l.pos-1] == '.' {
		return 0
	}
	whole := l.digits(l.pos, decimal)
	end := whole
	if end < len(l.src) && l.src[end] == '.' {
		if frac := l.digits(end+1, decimal); frac > end+1 {
			end = frac
		}
	}
	if exp := l.exponent(end); exp > 0 {
		return exp
	}
	if end > whole {
		return end
	}
	return 0
}

func (l *lexer) exponent(at int) int {
	if at >= len(l.src) || l.src[at] != 'e' && l.src[at] != 'E' {
		return 0
	}
	at++
	if at < len(l.src) && (l.src[at] == '+' || l.src[at] == '-') {
		at++
	}
	if end := l.digits(at, decimal); end > at {
		return end
	}
	return 0
}

func (l *lexer) integer() int {
	rest := l.src[l.pos:]
	if rest[0] == '0' && len(rest) > 1 {
		in := map[byte]string{'b': "01", 'o': "01234567",
			'x': "0123456789abcdefABCDEF"}[rest[1]|0x20]
		if in != "" {
			from := l.pos + 2
			if from < len(l.src) && l.src[from] == '_' {
				from++
			}
			if end := l.digits(from, in); end > from {
				return end
			}
		}
	}
	if rest[0] == '0' {
		return l.digits(l.pos, "0")
	}
	return l.digits(l.pos, decimal)
}
