package jinja

import (
	"strings"
	"unicode/utf8"
)

func filterWordWrap(c *Call) (any, error) {
	args, err := c.bind(takes("do_wordwrap", 1, need("s"), opt("width", int64(79)),
		opt("break_long_words", true), opt("wrapstring", nil), opt("break_on_hyphens", true)))
	if err != nil {
		return nil, err
	}
	glue := c.f.run.env.syntax.NewlineSequence
	if args[3] != nil {
		var ok bool
		if glue, ok = textOf(args[3]); !ok {
			return nil, Raise(AttributeError, "'%s' object has no attribute 'join'",
				typeName(args[3]))
		}
	}
	s, ok := textOf(args[0])
	if u, undefined := args[0].(*Undefined); undefined {
		return nil, u.fail()
	}
	if !ok {
		return nil, Raise(AttributeError, "'%s' object has no attribute 'splitlines'",
			typeName(args[0]))
	}
	width, err := indexOf(args[1])
	if err != nil {
		return nil, err
	}
	w := wrapper{width: width}
	if w.breakLong, err = c.bool(args[2]); err != nil {
		return nil, err
	}
	if w.hyphens, err = c.bool(args[4]); err != nil {
		return nil, err
	}
	lines := splitLines(s, false)
	if width <= 0 && len(lines) > 0 {
		return nil, Raise(ValueError, "invalid width %d (must be > 0)", width)
	}
	parts := make([]string, len(lines))
	for i, line := range lines {
		parts[i] = strings.Join(w.wrap(line), glue)
	}
	return c.f.run.joinTexts(parts, glue)
}

// Wrap splits a paragraph into lines of up to width characters, as Python's textwrap.wrap does for
// text that has no white space other than blanks. A width below 1 counts as 1.
func Wrap(s string, width int) []string {
	w := wrapper{width: max(1, width), breakLong: true, hyphens: true}
	return w.wrap(s)
}

// A wrapper splits a paragraph into lines, as Python's textwrap does.
type wrapper struct {
	width     int
	breakLong bool
	hyphens   bool
}

func (w *wrapper) wrap(s string) []string {
	chunks := w.chunks(s)
	var lines []string
	for len(chunks) > 0 {
		if isBlank(chunks[0].text) && len(lines) > 0 {
			chunks = chunks[1:]
		}
		var line []string
		length := 0
		for len(chunks) > 0 && length+chunks[0].size <= w.width {
			length += chunks[0].size
			line = append(line, chunks[0].text)
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && chunks[0].size > w.width {
			line, chunks = w.long(line, chunks, length)
		}
		if n := len(line); n > 0 && isBlank(line[n-1]) {
			line = line[:n-1]
		}
		if len(line) > 0 {
			lines = append(lines, strings.Join(line, ""))
		}
	}
	return lines
}

// A chunk is a part of a line that is kept whole if possible.
type chunk struct {
	text string
	size int // in characters
}

func chunkOf(s string) chunk { return chunk{s, runeCount(s)} }

// long puts as much as fits of a chunk that is wider than a line, or all of it, on its own line.
func (w *wrapper) long(line []string, chunks []chunk, length int) ([]string, []chunk) {
	if !w.breakLong {
		if len(line) == 0 {
			return []string{chunks[0].text}, chunks[1:]
		}
		return line, chunks
	}
	long := &chunks[0]
	end := max(w.width-length, 0)
	cut := runeIndex(long.text, end)
	if w.hyphens {
		if at := strings.LastIndexByte(long.text[:cut], '-'); at > 0 &&
			strings.Trim(long.text[:at], "-") != "" {
			cut = at + 1
			end = runeCount(long.text[:cut])
		}
	}
	line = append(line, long.text[:cut])
	long.text, long.size = long.text[cut:], long.size-end
	return line, chunks
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// chunks returns the parts of a line: words, and the space between them; words with hyphens are
// split.
func (w *wrapper) chunks(s string) []chunk {
	var out []chunk
	for s != "" {
		space := isASCIISpace(rune(s[0]))
		end := strings.IndexFunc(s, func(r rune) bool { return isASCIISpace(r) != space })
		if end < 0 {
			end = len(s)
		}
		if space || !w.hyphens {
			out = append(out, chunkOf(s[:end]))
		} else {
			for _, part := range hyphenated(s[:end]) {
				out = append(out, chunkOf(part))
			}
		}
		s = s[end:]
	}
	return out
}

func isASCIISpace(r rune) bool { return strings.ContainsRune(" \t\n\r\v\f", r) }

// hyphenated splits a word after hyphens between letters, and around dashes of several hyphens.
func hyphenated(word string) []string {
	var out []string
	start := 0
	for i := 0; i < len(word); i++ {
		if word[i] != '-' {
			continue
		}
		end := i
		for end < len(word) && word[end] == '-' {
			end++
		}
		switch {
		case end-i >= 2 && i > start && end < len(word) && isWordEnd(word[:i]) &&
			startsWord(word[end:]):
			out = append(out, word[start:i], word[i:end])
			start = end
		case end-i == 1 && breaksAt(word[start:i], word[end:]):
			out = append(out, word[start:end])
			start = end
		}
		i = end - 1
	}
	if start < len(word) {
		out = append(out, word[start:])
	}
	return out
}

func isLetter(r rune) bool { return isWord(r) && !(r >= '0' && r <= '9') }

// breaksAt reports whether a line may break after the hyphen between the two parts: both sides must
// be letters.
func breaksAt(before, after string) bool {
	last, n := utf8.DecodeLastRuneInString(before)
	if !isLetter(last) {
		return false
	}
	second, _ := utf8.DecodeLastRuneInString(before[:len(before)-n])
	third := strings.TrimSuffix(before[:len(before)-n], "-")
	prior, _ := utf8.DecodeLastRuneInString(third)
	if !isLetter(second) && !(second == '-' && isLetter(prior)) {
		return false
	}
	first, n := utf8.DecodeRuneInString(after)
	if !isLetter(first) {
		return false
	}
	rest := strings.TrimPrefix(after[n:], "-")
	next, _ := utf8.DecodeRuneInString(rest)
	return isLetter(next)
}

func isWordEnd(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return isWord(r) || strings.ContainsRune("!\"'&.,?", r)
}

func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isWord(r)
}
