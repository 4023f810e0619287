package output

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrap breaks a text into lines of at most width characters, each after indent, as Python's
// textwrap.fill does: at blanks and after hyphens in words. A word that is too long is cut.
func wrap(text string, width int, indent string) string {
	room := max(width-len(indent), 1)
	var lines []string
	line := ""
	for _, chunk := range chunks(text) {
		blank := strings.TrimSpace(chunk) == ""
		if blank && line == "" && len(lines) > 0 {
			continue
		}
		if utf8.RuneCountInString(line+chunk) > room && !blank {
			if line != "" {
				lines = append(lines, indent+strings.TrimRight(line, " "))
				line = ""
			}
			for utf8.RuneCountInString(chunk) > room {
				runes := []rune(chunk)
				lines = append(lines, indent+string(runes[:room]))
				chunk = string(runes[room:])
			}
		}
		line += chunk
	}
	if line = strings.TrimRight(line, " "); line != "" {
		lines = append(lines, indent+line)
	}
	return strings.Join(lines, "\n")
}

// chunks splits a text into words and the blanks between them; any white space becomes blanks.
func chunks(text string) []string {
	var out []string
	var b strings.Builder
	runes := []rune(text)
	for i, c := range runes {
		if unicode.IsSpace(c) {
			c = ' '
		}
		if i > 0 && (c == ' ') != unicode.IsSpace(runes[i-1]) || hyphenBefore(runes, i) {
			out = append(out, b.String())
			b.Reset()
		}
		b.WriteRune(c)
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// hyphenBefore reports whether a word may be broken before position i: after a hyphen between
// letters.
func hyphenBefore(runes []rune, i int) bool {
	return i >= 2 && i < len(runes) && runes[i-1] == '-' && unicode.IsLetter(runes[i-2]) &&
		unicode.IsLetter(runes[i])
}
