package match

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Python's classes cover Unicode; Go's \d, \w and \s do not.
const (
	digits    = `\p{Nd}`
	wordChars = `\p{L}\p{N}_`
	spaces    = `\t-\r\x1c-\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

	digitsASCII = `0-9`
	wordsASCII  = `0-9A-Za-z_`
	spacesASCII = `\t-\r\x20`

	marks     = 0xF0000 // private characters from here represent assertions in the translated text
	maxMarks  = 1000
	maxGroups = 500 // nested brackets

	// \d, \w and the like in one expression: each is a table of hundreds of ranges
	maxClasses = 1000
)

// A translation is a Python expression in Go's syntax. Assertions are removed from it: number n is
// replaced by a group that holds the character marks+n.
type translation struct {
	text    string
	asserts []assertion
}

// An assertion is a look-ahead or look-behind.
type assertion struct {
	body           *translation
	behind, negate bool
}

// A translator translates a Python expression in one pass.
type translator struct {
	src     string
	pos     int
	out     strings.Builder
	asserts []assertion
	flags   []flags    // of the open groups, innermost last
	usage   *usage     // by all translators of one expression
	head    int        // end of the global flags at the start
	back    *numbering // set if the translation is for the backtracking engine
}

type flags struct{ verbose, multiline, ascii, fold, dotAll bool }

// set returns the flags that Go's syntax supports, as a group that sets them for the rest.
func (f flags) set() string {
	s := ""
	for _, x := range []struct {
		on   bool
		name string
	}{{f.fold, "i"}, {f.multiline, "m"}, {f.dotAll, "s"}} {
		if x.on {
			s += x.name
		}
	}
	if s == "" {
		return ""
	}
	return "(?" + s + ")"
}

// usage counts an expression's use of limited constructs.
type usage struct{ asserts, classes int }

// isMark reports whether a character represents an assertion.
func isMark(r rune) bool { return marks <= r && r < marks+maxMarks }

func translate(src string) (*translation, error) { return translateWith(src, flags{}) }

// translateWith translates with flags that are set from the start.
func translateWith(src string, f flags) (*translation, error) {
	if !utf8.ValidString(src) || strings.ContainsFunc(src, isMark) {
		return nil, fmt.Errorf("invalid or private characters are %w", ErrUnsupported)
	}
	t := translator{src: src, flags: []flags{f}, usage: &usage{}}
	if err := t.group(outside); err != nil {
		return nil, err
	}
	return &translation{text: t.out.String(), asserts: t.asserts}, nil
}

// outside is the start of the whole expression, which is not a group.
const outside = -1

// group translates up to the end of the text or, in a group that began at a position, up to its
// closing bracket.
func (t *translator) group(from int) error {
	nested := from != outside
	if len(t.flags) > maxGroups {
		return fmt.Errorf("%w: groups in groups", ErrTooBig)
	}
	for t.pos < len(t.src) {
		if nested && t.src[t.pos] == ')' {
			return nil
		}
		if err := t.item(); err != nil {
			return err
		}
	}
	if nested {
		return fmt.Errorf("missing ), unterminated subpattern at position %d", from)
	}
	return nil
}

// item translates one character or construct.
func (t *translator) item() error {
	c := t.src[t.pos]
	switch {
	case c == '\\':
		return t.escape()
	case c == '[':
		return t.class()
	case c == '(':
		return t.open()
	case c == ')':
		return fmt.Errorf("unbalanced parenthesis at position %d", t.pos)
	case c == '$':
		t.dollar()
	case c == '{':
		t.repeat()
	case t.top().verbose && strings.IndexByte(" \t\n\r\f\v", c) >= 0:
		t.pos++
	case t.top().verbose && c == '#':
		t.comment()
	default:
		t.copy()
	}
	return nil
}

func (t *translator) top() *flags { return &t.flags[len(t.flags)-1] }

func (t *translator) emit(s string) { t.out.WriteString(s) }

// copy emits one character unchanged.
func (t *translator) copy() {
	_, size := utf8.DecodeRuneInString(t.src[t.pos:])
	t.emit(t.src[t.pos : t.pos+size])
	t.pos += size
}

// lastLine matches at the end and before a line feed there, which it consumes.
const lastLine = `(?:\n?\z)`

// dollar translates $, which in Python also matches before a line feed at the end.
func (t *translator) dollar() {
	t.pos++
	switch {
	case t.top().multiline:
		t.emit(`(?m:$)`)
	case t.back != nil:
		t.emit(`(?-m:$)`)
	default:
		t.emit(lastLine)
	}
}

// comment skips to the end of the line in a verbose expression.
func (t *translator) comment() {
	if n := strings.IndexByte(t.src[t.pos:], '\n'); n >= 0 {
		t.pos += n
		return
	}
	t.pos = len(t.src)
}

// fourDigits matches escapes such as \x{2028}, which Go writes and other engines spell \u2028.
var fourDigits = regexp.MustCompile(`\\x\{([0-9a-f]{4})\}`)

var repeatCount = regexp.MustCompile(`^\{([0-9]*)(,?)([0-9]*)\}`)

// repeat translates braces: {,3} counts from 0 in Python, and braces without counts are text.
func (t *translator) repeat() {
	m := repeatCount.FindStringSubmatch(t.src[t.pos:])
	if m == nil || m[0] == "{}" {
		t.emit(`\{`)
		t.pos++
		return
	}
	if m[1] == "" {
		m[1] = "0"
	}
	t.emit("{" + m[1] + m[2] + m[3] + "}")
	t.pos += len(m[0])
}

// escape translates an escape outside of a class.
func (t *translator) escape() error {
	if t.pos+1 >= len(t.src) {
		return fmt.Errorf("bad escape (end of pattern)")
	}
	c := t.src[t.pos+1]
	if s, ok := t.classEscape(c); ok {
		t.pos += 2
		t.emit("[" + t.spelled(s) + "]")
		return t.spendClass()
	}
	switch c {
	case 'A', 'b', 'B':
		t.emit(t.src[t.pos : t.pos+2])
		t.pos += 2
		return nil
	case 'Z':
		t.emit(`\z`)
		t.pos += 2
		return nil
	}
	if t.back != nil && c >= '1' && c <= '9' {
		if _, size, err := readOctal(t.src[t.pos:], false); err != nil || size < 4 {
			return t.backReference()
		}
	}
	return t.charEscape(false)
}

func (t *translator) spendClass() error {
	if t.usage.classes++; t.usage.classes > maxClasses {
		return fmt.Errorf("%w: more than %d classes such as \\w", ErrTooBig, maxClasses)
	}
	return nil
}

// classEscape returns the inside of the class that \d and its like stand for.
func (t *translator) classEscape(c byte) (string, bool) {
	table := map[byte][2]string{
		'd': {digits, digitsASCII}, 'w': {wordChars, wordsASCII}, 's': {spaces, spacesASCII},
		'D': {"^" + digits, "^" + digitsASCII}, 'W': {"^" + wordChars, "^" + wordsASCII},
		'S': {"^" + spaces, "^" + spacesASCII},
	}
	pair, ok := table[c]
	if t.top().ascii {
		return pair[1], ok
	}
	return pair[0], ok
}

// spelled returns the inside of a class in the spelling of the target engine.
func (t *translator) spelled(inside string) string {
	if t.back == nil {
		return inside
	}
	return fourDigits.ReplaceAllString(inside, `\u$1`)
}

// charEscape translates an escape that stands for one character.
func (t *translator) charEscape(inClass bool) error {
	r, size, err := readEscape(t.src[t.pos:], inClass)
	if err != nil {
		return fmt.Errorf("%w at position %d", err, t.pos)
	}
	if isMark(r) {
		return fmt.Errorf("private characters are %w", ErrUnsupported)
	}
	t.pos += size
	t.emit(quoteRune(r))
	return nil
}

// quoteRune quotes a character so that it is literal, in and out of a class.
func quoteRune(r rune) string {
	if r == '-' {
		return `\-`
	}
	if r < ' ' || r == 0x7f {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return regexp.QuoteMeta(string(r))
}

// readEscape parses the escape at the start of s.
func readEscape(s string, inClass bool) (r rune, size int, err error) {
	c, n := utf8.DecodeRuneInString(s[1:])
	simple := map[rune]rune{'a': '\a', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}
	switch {
	case simple[c] != 0:
		return simple[c], 2, nil
	case c == 'b' && inClass:
		return '\b', 2, nil
	case c == 'x':
		return readHex(s, 2)
	case c == 'u':
		return readHex(s, 4)
	case c == 'U':
		return readHex(s, 8)
	case c == 'N':
		return 0, 0, fmt.Errorf(`\N{…} is %w`, ErrUnsupported)
	case c >= '0' && c <= '9':
		return readOctal(s, inClass)
	case c < utf8.RuneSelf && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
		return 0, 0, fmt.Errorf(`bad escape \%c`, c)
	}
	return c, 1 + n, nil
}

func readHex(s string, width int) (rune, int, error) {
	if len(s) < 2+width {
		return 0, 0, fmt.Errorf("incomplete escape %s", s)
	}
	n, err := strconv.ParseUint(s[2:2+width], 16, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, 0, fmt.Errorf("bad escape %s", s[:2+width])
	}
	return rune(n), 2 + width, nil
}

// readOctal parses \0, \12 and \123; other numbers are back-references.
func readOctal(s string, inClass bool) (rune, int, error) {
	size := 1
	for size < len(s) && size < 4 && s[size] >= '0' && s[size] <= '7' {
		size++
	}
	if s[1] != '0' && size < 4 && !inClass {
		return 0, 0, fmt.Errorf("back-references are %w", ErrUnsupported)
	}
	n, err := strconv.ParseUint(s[1:size], 8, 32)
	if err != nil || n > 0o377 {
		return 0, 0, fmt.Errorf("bad escape %s", s[:max(size, 2)])
	}
	return rune(n), size, nil
}
