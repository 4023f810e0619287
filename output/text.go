package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// newText returns the outputter txt: a line "key: line" for each line of each value of a map; other
// values unchanged.
func newText(Options) Outputter {
	return formatter(func(v any) (string, error) {
		switch v := v.(type) {
		case *data.Map:
			return textMap(v), nil
		case string:
			return v + "\n", nil
		}
		return pretty{indent: 1}.text(v) + "\n", nil
	})
}

func textMap(m *data.Map) string {
	var b strings.Builder
	for k, v := range m.All() {
		key := data.Str(k)
		for _, line := range textLines(v) {
			fmt.Fprintf(&b, "%s: %s\n", key, line)
		}
	}
	return b.String()
}

// textLines returns the lines of text and of bytes, and one line for any other value.
func textLines(v any) []string {
	switch v := v.(type) {
	case string:
		return splitLines(v, false)
	case []byte:
		return byteLines(v)
	}
	return []string{data.ClassText(v)}
}

// byteLines splits bytes at Python's line breaks for bytes, which are fewer than for text.
func byteLines(b []byte) []string {
	s := strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "\r", "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = data.Repr([]byte(line))
	}
	return lines
}

// splitLines is Python's str.splitlines.
func splitLines(s string, keepEnds bool) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isLineBreak(r) {
			i += n
			continue
		}
		end := i
		i += n
		if r == '\r' && i < len(s) && s[i] == '\n' {
			i++
		}
		if keepEnds {
			end = i
		}
		lines = append(lines, s[start:end])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// isSpace is Python's str.isspace, which includes four control characters more than Go's.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func raw(v any) (string, error) { return data.ClassText(v), nil }

func quiet(any) (string, error) { return "", nil }

// valuesOnly prints the values of a map, one per line. Elements of lists are printed one by one.
func valuesOnly(v any) (string, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return "", fmt.Errorf("values of %T: %w", v, ErrValue)
	}
	var lines []string
	for _, v := range m.All() {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			lines = append(lines, data.ClassText(e))
		}
	}
	return strings.Join(lines, "\n"), nil
}
