package pki

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// compileGlob converts a shell pattern to a regular expression that matches whole strings, with the
// rules of Python's fnmatch: * ? [seq] [!seq], no quoting, and an unclosed bracket is literal.
func compileGlob(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A(?:`)
	for len(pattern) > 0 {
		pattern = pattern[writeGlob(&b, pattern):]
	}
	b.WriteString(`)\z`)
	return regexp.Compile(b.String())
}

// writeGlob writes the first element of pattern and returns its length.
func writeGlob(b *strings.Builder, pattern string) int {
	switch pattern[0] {
	case '*':
		b.WriteString(".*")
		return 1
	case '?':
		b.WriteByte('.')
		return 1
	case '[':
		if set, n := globSet(pattern); n > 0 {
			b.WriteString(set)
			return n
		}
	}
	_, n := utf8.DecodeRuneInString(pattern)
	b.WriteString(regexp.QuoteMeta(pattern[:n]))
	return n
}

// globSet returns the set at the start of pattern and its length, which is 0 if the set is not
// closed.
func globSet(pattern string) (set string, n int) {
	body := strings.TrimPrefix(pattern[1:], "!")
	start := len(pattern) - len(body)
	if body == "" {
		return "", 0
	}
	end := strings.IndexByte(body[1:], ']') // a ] in first position is a member
	if end < 0 {
		return "", 0
	}
	members, negated := quoteSet(body[:end+1]), start == 2
	n = start + end + 2
	switch {
	case members == "" && negated:
		return ".", n
	case members == "":
		return `[^\x00-\x{10FFFF}]`, n
	case negated:
		return "[^" + members + "]", n
	}
	return "[" + members + "]", n
}

// quoteSet quotes characters that are special in a regexp set but not in an fnmatch set. Ranges are
// kept. A reversed range matches nothing, as in fnmatch, so the result may be empty.
func quoteSet(members string) string {
	var b strings.Builder
	runes := []rune(members)
	for i := 0; i < len(runes); i++ {
		if i+2 < len(runes) && runes[i+1] == '-' {
			if runes[i] <= runes[i+2] {
				b.WriteString(quoteMember(runes[i]) + "-" + quoteMember(runes[i+2]))
			}
			i += 2
			continue
		}
		b.WriteString(quoteMember(runes[i]))
	}
	return b.String()
}

func quoteMember(r rune) string {
	if strings.ContainsRune(`\]^-[`, r) {
		return `\` + string(r)
	}
	return string(r)
}
