package plist

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner parses XML 1.0 without entity definitions and reports elements and text to a reader. It
// adds less to a program than package encoding/xml, and supports no more than property lists need:
// elements may not repeat attributes, and a document has one root.
type scanner struct {
	text string
	at   int // current position
	to   *xmlReader

	open     []string // elements that are not closed yet
	rooted   bool     // the root has begun
	declared bool     // there was a DOCTYPE
}

// maxOpen limits nested elements, of which only some are values.
const maxOpen = 10000

// line returns the number of the line at a position.
func (s *scanner) line(at int) int { return 1 + strings.Count(s.text[:min(at, len(s.text))], "\n") }

func (s *scanner) wrong(what string) error { return fmt.Errorf("%s: line %d", what, s.line(s.at)) }

const invalidToken = "not well-formed (invalid token)"

// run parses the whole text.
func (s *scanner) run() error {
	for i, r := range s.text {
		if r == utf8.RuneError && !strings.HasPrefix(s.text[i:], "\uFFFD") || !isChar(r) {
			s.at = i
			return s.wrong(invalidToken)
		}
	}
	for s.at < len(s.text) {
		if err := s.next(); err != nil {
			return err
		}
	}
	switch {
	case len(s.open) > 0 || !s.rooted:
		return s.wrong("no element found")
	}
	return nil
}

// isChar reports whether a character is allowed in XML.
func isChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r < 0xD800 ||
		r >= 0xE000 && r < 0xFFFE || r >= 0x10000 && r <= utf8.MaxRune
}

// upTo returns the text from here up to end, and moves past end.
func (s *scanner) upTo(begin, end string) (string, error) {
	n := strings.Index(s.text[s.at+len(begin):], end)
	if n < 0 {
		return "", s.wrong("unclosed token")
	}
	from := s.at + len(begin)
	s.at = from + n + len(end)
	return s.text[from : from+n], nil
}

func (s *scanner) next() error {
	rest := s.text[s.at:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		text, err := s.upTo("<!--", "-->")
		if err == nil && (strings.Contains(text, "--") || strings.HasSuffix(text, "-")) {
			err = s.wrong(invalidToken)
		}
		return err
	case strings.HasPrefix(rest, "<?"):
		first := s.at == 0
		text, err := s.upTo("<?", "?>")
		if target, _, _ := strings.Cut(text, " "); err == nil &&
			(!first && strings.EqualFold(target, "xml") || nameIn(text) == "") {
			err = s.wrong("XML or text declaration not at start of entity")
		}
		return err
	case strings.HasPrefix(rest, "<![CDATA[") && len(s.open) > 0:
		text, err := s.upTo("<![CDATA[", "]]>")
		s.to.chars.WriteString(oneLineEnd(text))
		return err
	case strings.HasPrefix(rest, "<!DOCTYPE") && !s.rooted && !s.declared:
		return s.doctype()
	case strings.HasPrefix(rest, "</"):
		return s.end()
	case strings.HasPrefix(rest, "<"):
		return s.begin()
	}
	n := strings.IndexByte(rest, '<')
	if n < 0 {
		n = len(rest)
	}
	if len(s.open) == 0 {
		if strings.Trim(rest[:n], " \t\r\n") != "" {
			return s.wrong("text outside of elements")
		}
		s.at += n
		return nil
	}
	text, err := s.unescape(rest[:n])
	s.at += n
	if err == nil && strings.Contains(rest[:n], "]]>") {
		err = s.wrong(invalidToken)
	}
	s.to.chars.WriteString(text)
	return err
}

// doctype skips a document type declaration, which may contain other declarations in square
// brackets, but not of entities.
func (s *scanner) doctype() error {
	s.declared = true
	quote, brackets := byte(0), 0
	for i := s.at; i < len(s.text); i++ {
		c := s.text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			brackets++
		case c == ']':
			brackets--
		case strings.HasPrefix(s.text[i:], "<!ENTITY"):
			return errors.New("XML entity declarations are not supported in plist files")
		case c == '>' && brackets == 0:
			s.at = i + 1
			return nil
		}
	}
	return s.wrong("unclosed token")
}

// nameIn returns the name at the beginning of a text.
func nameIn(text string) string {
	n := strings.IndexFunc(text, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("-._:", r) && (r < '0' || r > '9') &&
			(r|0x20 < 'a' || r|0x20 > 'z')
	})
	if n < 0 {
		n = len(text)
	}
	if n == 0 || strings.ContainsRune("-.0123456789", rune(text[0])) {
		return ""
	}
	return text[:n]
}

func (s *scanner) end() error {
	name := nameIn(s.text[s.at+2:])
	after := strings.TrimLeft(s.text[s.at+2+len(name):], " \t\r\n")
	switch {
	case !strings.HasPrefix(after, ">"):
		return s.wrong(invalidToken)
	case len(s.open) == 0 || s.open[len(s.open)-1] != name:
		return s.wrong("mismatched tag")
	}
	s.open = s.open[:len(s.open)-1]
	s.to.line = func() int { return s.line(s.at) }
	err := s.to.end(name)
	s.at = len(s.text) - len(after) + 1
	return err
}

func (s *scanner) begin() error {
	at := s.at
	name := nameIn(s.text[at+1:])
	if name == "" {
		return s.wrong(invalidToken)
	}
	if len(s.open) == 0 && s.rooted {
		return s.wrong("junk after document element")
	}
	rest, err := s.attributes(s.text[at+1+len(name):])
	if err != nil {
		return err
	}
	empty := strings.HasPrefix(rest, "/")
	rest = strings.TrimPrefix(rest, "/")
	if !strings.HasPrefix(rest, ">") {
		return s.wrong(invalidToken)
	}
	s.rooted = true
	s.to.line = func() int { return s.line(at) }
	if err := s.to.begin(name); err != nil {
		return err
	}
	s.at = len(s.text) - len(rest) + 1
	if empty {
		return s.to.end(name)
	}
	if s.open = append(s.open, name); len(s.open) > maxOpen {
		return errDepth
	}
	return nil
}

// attributes skips the attributes of an element and returns the text after them.
func (s *scanner) attributes(rest string) (string, error) {
	var names []string
	for {
		after := strings.TrimLeft(rest, " \t\r\n")
		name := nameIn(after)
		if name == "" {
			return after, nil
		}
		if len(after) == len(rest) || slices.Contains(names, name) || len(names) >= 100 {
			return "", s.wrong(invalidToken)
		}
		names = append(names, name)
		after = strings.TrimLeft(after[len(name):], " \t\r\n")
		value, ok := strings.CutPrefix(after, "=")
		value = strings.TrimLeft(value, " \t\r\n")
		if !ok || value == "" || value[0] != '"' && value[0] != '\'' {
			return "", s.wrong(invalidToken)
		}
		n := strings.IndexByte(value[1:], value[0])
		if n < 0 || strings.Contains(value[1:n+1], "<") {
			return "", s.wrong(invalidToken)
		}
		if _, err := s.unescape(value[1 : n+1]); err != nil {
			return "", err
		}
		rest = value[n+2:]
	}
}

func oneLineEnd(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// unescape returns text with references replaced. Line ends become \n, except those that are
// written as references.
func (s *scanner) unescape(text string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "&")
		b.WriteString(oneLineEnd(before))
		if !found {
			return b.String(), nil
		}
		name, rest, ok := strings.Cut(after, ";")
		text = rest
		switch name {
		case "amp":
			b.WriteByte('&')
		case "lt":
			b.WriteByte('<')
		case "gt":
			b.WriteByte('>')
		case "quot":
			b.WriteByte('"')
		case "apos":
			b.WriteByte('\'')
		default:
			r, err := reference(name)
			if err != nil || !ok {
				return "", s.wrong("undefined entity or invalid character reference")
			}
			b.WriteRune(r)
		}
	}
}

// reference returns the character for #N or #xN.
func reference(name string) (rune, error) {
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || !ok || n > utf8.MaxRune || !isChar(rune(n)) {
		return 0, errors.New("no character")
	}
	return rune(n), nil
}
