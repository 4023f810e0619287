package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// str reads a text literal in the quotes q.
func (l *lexer) str(q byte) bool {
	end := l.pos + 1
	for end < len(l.src) && l.src[end] != q {
		if l.src[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(l.src) {
		return l.unexpected()
	}
	raw := l.src[l.pos+1 : end]
	text := raw
	if l.syntax.NewlineSequence != "\n" {
		text = strings.ReplaceAll(text, "\n", l.syntax.NewlineSequence)
	}
	if strings.IndexByte(raw, '\\') >= 0 {
		var fault string
		if text, fault = unescape(text); fault != "" {
			return l.fail("%s", fault)
		}
	}
	l.emit(tokString, text, nil)
	l.line += strings.Count(raw, "\n")
	l.step(end + 1)
	return true
}

// simpleEscapes are the escapes of one letter; others keep their backslash.
var simpleEscapes = [128]byte{
	'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r',
	't': '\t', 'v': '\v',
}

// unescape decodes Python's escapes (its codec unicode-escape); fault is the codec's message.
func unescape(s string) (text, fault string) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		c := s[i+1]
		switch {
		case c < 128 && simpleEscapes[c] != 0:
			b.WriteByte(simpleEscapes[c])
			i += 2
		case c == '\n':
			i += 2
		case c >= '0' && c <= '7':
			n := 2
			for n < 4 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(s[i+1:i+n], 8, 16)
			b.WriteRune(rune(v))
			i += n
		case c == 'x' || c == 'u' || c == 'U':
			r, n, fault := hexEscape(s[i:])
			if fault != "" {
				return "", fault
			}
			b.WriteRune(r)
			i += n
		case c == 'N':
			return "", "unknown Unicode character name"
		default:
			b.WriteByte('\\')
			i++
		}
	}
	return b.String(), ""
}

// hexEscape decodes \xXX, \uXXXX and \UXXXXXXXX.
func hexEscape(s string) (r rune, n int, fault string) {
	want := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	for n = 2; n < len(s) && n < want+2 &&
		strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0; n++ {
	}
	if n < want+2 {
		return 0, 0, "truncated \\" + s[1:2] + strings.Repeat("X", want) + " escape"
	}
	v, _ := strconv.ParseUint(s[2:n], 16, 64)
	if v > utf8.MaxRune {
		return 0, 0, "illegal Unicode character"
	}
	return rune(v), n, ""
}
