package loader

import (
	"fmt"
	"unicode/utf8"
)

// Text returns what a file or a program gave as a string, or Python's UnicodeDecodeError with the first bytes that are no UTF-8.
func Text(raw []byte) (string, error) {
	for at := 0; at < len(raw); {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			return "", undecodable(raw, at)
		}
		at += n
	}
	return string(raw), nil
}

// undecodable says which bytes are wrong, and what is.
func undecodable(raw []byte, at int) error {
	rest := raw[at:]
	what := "invalid continuation byte"
	if rest[0] < 0xc2 || rest[0] > 0xf4 {
		what = "invalid start byte"
	} else if !utf8.FullRune(rest) {
		what = "unexpected end of data"
	}
	where := fmt.Sprintf("byte 0x%02x in position %d", rest[0], at)
	if n := begun(rest); n > 1 {
		where = fmt.Sprintf("bytes in position %d-%d", at, at+n-1)
	}
	return Exception("UnicodeDecodeError", "'utf-8' codec can't decode %s: %s", where, what)
}

// begun returns how many of the first bytes can be those of one character.
func begun(rest []byte) int {
	n := 1
	for n < len(rest) && !utf8.FullRune(rest[:n]) {
		n++
	}
	if utf8.FullRune(rest[:n]) && n > 1 {
		return n - 1
	}
	return n
}
