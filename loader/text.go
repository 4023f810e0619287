package loader

import (
	"fmt"
	"unicode/utf8"
)

// Text returns the contents of a file or the output of a program as a string. If it is not valid
// UTF-8, the error is Python's UnicodeDecodeError.
func Text(raw []byte) (string, error) {
	for at := 0; at < len(raw); {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			return "", decodeError(raw, at)
		}
		at += n
	}
	return string(raw), nil
}

// decodeError returns the error for the invalid bytes at the given position.
func decodeError(raw []byte, at int) error {
	rest := raw[at:]
	what := "invalid continuation byte"
	if rest[0] < 0xc2 || rest[0] > 0xf4 {
		what = "invalid start byte"
	} else if !utf8.FullRune(rest) {
		what = "unexpected end of data"
	}
	where := fmt.Sprintf("byte 0x%02x in position %d", rest[0], at)
	if n := charPrefixLen(rest); n > 1 {
		where = fmt.Sprintf("bytes in position %d-%d", at, at+n-1)
	}
	return Exception("UnicodeDecodeError", "'utf-8' codec can't decode %s: %s", where, what)
}

// charPrefixLen returns how many bytes at the start of rest may belong to one character.
func charPrefixLen(rest []byte) int {
	n := 1
	for n < len(rest) && !utf8.FullRune(rest[:n]) {
		n++
	}
	if utf8.FullRune(rest[:n]) && n > 1 {
		return n - 1
	}
	return n
}
