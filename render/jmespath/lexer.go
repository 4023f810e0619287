package jmespath

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A token is a word of an expression.
type token struct {
	kind string // the sign itself, or one of: name, quoted, raw, literal, number, end
	text string
	pos  int
}

// signs returns the signs, the longest first.
func signs() []string {
	return []string{"[?", "[]", "||", "&&", "==", "!=", "<=", ">=", ".", "*", "@", "&", "[", "]",
		"{", "}", "(", ")", ",", ":", "|", "!", "<", ">"}
}

func lex(src string) ([]token, error) {
	var out []token
	for pos := 0; pos < len(src); {
		if strings.IndexByte(" \t\n\r", src[pos]) >= 0 {
			pos++
			continue
		}
		t, size, err := next(src, pos)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		pos += size
	}
	return append(out, token{"end", "", len(src)}), nil
}

func next(src string, pos int) (token, int, error) {
	rest := src[pos:]
	switch c := rest[0]; {
	case c == '"' || c == '\'' || c == '`':
		n := closing(rest, c)
		if n < 0 {
			return token{}, 0, fmt.Errorf("bad jmespath expression: unclosed %c at column %d", c,
				pos)
		}
		kind := map[byte]string{'"': "quoted", '\'': "raw", '`': "literal"}[c]
		return token{kind, rest[1:n], pos}, n + 1, nil
	case isLetter(c):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		return token{"name", rest[:n], pos}, n, nil
	case isDigit(c) || c == '-' && len(rest) > 1 && isDigit(rest[1]):
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		return token{"number", rest[:n], pos}, n, nil
	}
	for _, s := range signs() {
		if strings.HasPrefix(rest, s) {
			return token{s, s, pos}, len(s), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, 0, fmt.Errorf("bad jmespath expression: unknown token %q at column %d", r, pos)
}

// closing returns the position of the quote that ends a text; a backslash escapes a quote.
func closing(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return -1
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
