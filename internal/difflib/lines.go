package difflib

import "strings"

// Lines splits a text at all line ends of Python's str.splitlines, and keeps the ends.
func Lines(s string) []string {
	return splitLines(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
}

// ByteLines splits a text at line feeds and carriage returns only, as bytes.splitlines does, and
// keeps the ends.
func ByteLines(s string) []string { return splitLines(s, "\n\r") }

// Bare returns a line without its end.
func Bare(line string) string {
	if cut, ok := strings.CutSuffix(line, "\r\n"); ok {
		return cut
	}
	for _, end := range []string{"\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085",
		"\u2028", "\u2029"} {
		if cut, ok := strings.CutSuffix(line, end); ok {
			return cut
		}
	}
	return line
}

func splitLines(s, ends string) []string {
	var lines []string
	start, cr := 0, false
	for i, r := range s {
		if cr && r != '\n' {
			lines = append(lines, s[start:i])
			start = i
		}
		if cr = r == '\r'; cr || !strings.ContainsRune(ends, r) || r == '\ufffd' {
			continue
		}
		end := i + len(string(r))
		lines = append(lines, s[start:end])
		start = end
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}
