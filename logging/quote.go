package logging

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoteControls quotes control characters, with which a peer could forge log lines or affect a
// terminal. If anything is quoted, bytes that are not UTF-8 become U+FFFD.
func quoteControls(s string) string {
	if isPlain(s) || !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			// multi-line texts of ours, such as stacks, keep their lines, indented so that none
			// looks like an entry
			b.WriteString("\n    ")
		case isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isPlain quickly reports, for most texts, that nothing must be quoted.
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
