package logging

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoteControls quotes the characters by which one who is on the network could write lines of its own, or change what a
// terminal shows. Bytes that are no UTF-8 become U+FFFD where anything is quoted.
func quoteControls(s string) string {
	if isPlain(s) || !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\n    ") // lines of our own, such as stacks, stay lines but cannot look like an entry
		case isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isPlain tells at once for the most texts that there is nothing to quote.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c >= utf8.RuneSelf || c == 0x7f {
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
