package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// Layout of optparse's IndentedHelpFormatter.
const (
	defaultColumns = 80
	helpColumn     = 24 // the highest column at which an option's text begins
	minHelpWidth   = 11
)

// help returns the help text as optparse lays it out for a terminal with this many columns.
func (p *program) help(columns int) string {
	h := &helpWriter{width: columns - 2}
	h.column = min(p.namesWidth()+2, helpColumn, max(h.width-20, 4))
	h.b.WriteString(p.usageLine() + "\n")
	h.paragraph(p.description, 0)
	h.b.WriteString("\nOptions:\n")
	for i, g := range p.groups {
		indent := 2
		if i > 0 {
			fmt.Fprintf(&h.b, "\n  %s:\n", g.title)
			indent = 4
		}
		if g.description != "" {
			h.paragraph(g.description, indent)
			h.b.WriteByte('\n')
		}
		for _, o := range g.shown() {
			h.option(&o, indent)
		}
	}
	h.own(p.own())
	h.b.WriteByte('\n')
	h.paragraph(fmt.Sprintf("You can find additional help about %s issuing \"man %[1]s\" or on https://docs.saltproject.io",
		p.name), 0)
	return h.b.String()
}

// own writes the options that Salt does not have, after Salt's.
func (h *helpWriter) own(options []*option) {
	if len(options) == 0 {
		return
	}
	fmt.Fprintf(&h.b, "\n  %s:\n", ownTitle)
	for _, o := range options {
		h.option(o, 4)
	}
}

// ownTitle is the heading of the options that Salt does not have.
const ownTitle = "Brine Options"

// namesWidth is the width of the widest option, with its indent.
func (p *program) namesWidth() int {
	widest := 0
	for i, g := range p.groups {
		indent := 4
		if i == 0 {
			indent = 2
		}
		for _, o := range g.shown() {
			widest = max(widest, len(o.nameText())+indent)
		}
	}
	return widest
}

// nameText returns the left side of the help: -c CONFIG_DIR, --config-dir=CONFIG_DIR.
func (o *option) nameText() string {
	var names []string
	value := o.metavar
	if value == "" {
		value = strings.ToUpper(o.dest)
	}
	for name := range strings.FieldsSeq(o.names) {
		switch {
		case o.kind == optional && o.metavar != "":
			name += "[=" + o.metavar + "]"
		case !o.kind.takesValue():
		case strings.HasPrefix(name, "--"):
			name += "=" + value
		default:
			name += " " + value
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (o *option) helpText() string {
	def := "none"
	if o.def != nil {
		def = data.Str(o.def)
	}
	return strings.ReplaceAll(o.help, "%default", def)
}

type helpWriter struct {
	b      strings.Builder
	width  int
	column int // at which the options' texts begin
}

func (h *helpWriter) paragraph(s string, indent int) {
	for _, line := range wrap(s, max(h.width-indent, minHelpWidth)-indent) {
		h.b.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

func (h *helpWriter) option(o *option, indent int) {
	names := o.nameText()
	room := h.column - indent - 2
	lines := wrap(o.helpText(), max(h.width-h.column, minHelpWidth))
	if len(names) > room {
		fmt.Fprintf(&h.b, "%*s%s\n", indent, "", names)
	} else {
		fmt.Fprintf(&h.b, "%*s%-*s  %s\n", indent, "", room, names, lines[0])
		lines = lines[1:]
	}
	for _, line := range lines {
		fmt.Fprintf(&h.b, "%*s%s\n", h.column, "", line)
	}
}

// wrap breaks text into lines of at most width characters as Python's textwrap does.
func wrap(s string, width int) []string {
	width = max(width, 1)
	var lines []string
	words := chunks(s)
	for len(words) > 0 {
		if len(lines) > 0 && words[0][0] == ' ' {
			words = words[1:]
		}
		line := ""
		for len(words) > 0 && len(line)+len(words[0]) <= width {
			line, words = line+words[0], words[1:]
		}
		if len(words) > 0 && len(words[0]) > width { // longer than any line
			cut := max(1, width-len(line))
			line, words[0] = line+words[0][:cut], words[0][cut:]
		}
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// chunks splits text at possible line ends: white space, which is a chunk itself, after the hyphen
// of a word like multi-level, and on both sides of dashes before a word (wordsep_re of Python's
// textwrap).
func chunks(s string) []string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
	var list []string
	before := byte(' ')
	for s != "" {
		n := chunkEnd(s, before)
		before = s[n-1]
		list, s = append(list, s[:n]), s[n:]
	}
	return list
}

// chunkEnd returns the length of the first chunk of s, which is not empty. before is the preceding
// character.
func chunkEnd(s string, before byte) int {
	if s[0] == ' ' {
		return len(s) - len(strings.TrimLeft(s, " "))
	}
	if n := dashes(s); n > 1 && isWord(before) && n < len(s) && isWordLetter(s[n]) {
		return n
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == ' ':
			return i
		case hyphenAt(s, i-1):
			return i
		case dashesAt(s, i):
			return i
		}
	}
	return len(s)
}

// hyphenAt reports whether a line may end after the hyphen at i: it has two letters on either side.
func hyphenAt(s string, i int) bool {
	if s[i] != '-' || i < 2 || i+2 >= len(s) || !isLetter(s[i-1]) && s[i-1] != '-' {
		return false
	}
	before := isLetter(s[i-1]) && (isLetter(s[i-2]) || s[i-2] == '-' && i > 2 && isLetter(s[i-3]))
	behind := isLetter(s[i+1]) && (isLetter(s[i+2]) || s[i+2] == '-' && i+3 < len(s) &&
		isLetter(s[i+3]))
	return before && behind
}

// dashesAt reports whether dashes between words begin at i.
func dashesAt(s string, i int) bool {
	n := dashes(s[i:])
	return n > 1 && isWord(s[i-1]) && i+n < len(s) && isWordLetter(s[i+n])
}

func dashes(s string) int { return len(s) - len(strings.TrimLeft(s, "-")) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWordLetter(c byte) bool { return isLetter(c) || c == '_' || c >= '0' && c <= '9' }

// isWord reports whether c may precede dashes.
func isWord(c byte) bool { return isWordLetter(c) || strings.IndexByte(`!"'&.,?`, c) >= 0 }
