package ini

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/loader"
)

// space matches the same characters as Python's \s.
const space = `[\t-\r\x1c-\x20\x{85}\p{Z}]`

var (
	header  = regexp.MustCompile(`(?m)^` + space + `*\[(.+?)\]` + space + `*$`)
	comment = regexp.MustCompile(`^` + space + `*[#;]`)
	indent  = regexp.MustCompile(`^` + space + `+`)
	lineEnd = regexp.MustCompile("\r\n|[\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029]")
)

// A syntax defines how a file separates options from their values.
type syntax struct {
	separator string
	line      *regexp.Regexp
	tight     bool // write no spaces around the separator
}

func newSyntax(separator string) (*syntax, error) {
	if separator == "" {
		return nil, loader.Invocation("the separator of an ini file may not be empty")
	}
	line, err := regexp.Compile(`^(` + space + `*)(.+?)` + space + `*` +
		regexp.QuoteMeta(separator) + space + `*(.*)`)
	if err != nil {
		return nil, loader.Invocation("the separator %q of an ini file cannot be used: %w",
			separator, err)
	}
	return &syntax{separator: separator, line: line}, nil
}

// between returns the text to write between an option and its value.
func (s *syntax) between() string {
	sign := strings.TrimSpace(s.separator)
	switch {
	case strings.Trim(s.separator, " ") == "":
		return " "
	case s.tight:
		return sign
	}
	return " " + sign + " "
}

// An option is a line with a separator.
type option struct{ indent, name, value string }

func (s *syntax) option(line string) (option, bool) {
	m := s.line.FindStringSubmatch(line)
	if m == nil {
		return option{}, false
	}
	return option{wide(m[1]), m[2], m[3]}, true
}

// wide expands the tabs of an indent.
func wide(indent string) string { return strings.ReplaceAll(indent, "\t", "    ") }

// parse parses a file: options above all sections, and sections.
func (s *syntax) parse(content string) (*section, error) {
	content = strings.Join(lines(content), "\n")
	root, from := newSection("", s), 0
	into := root
	for _, at := range header.FindAllStringSubmatchIndex(content, -1) {
		if err := into.read(content[from:at[0]]); err != nil {
			return nil, err
		}
		name := content[at[2]:at[3]]
		next := newSection(name, s)
		if err := root.join(into); err != nil {
			return nil, err
		}
		into, from = next, at[1]
	}
	if err := into.read(content[from:]); err != nil {
		return nil, err
	}
	return root, root.join(into)
}

// join adds a parsed section to the file; its entries are merged into a section of the same name.
func (s *section) join(read *section) error {
	if read == s {
		return nil
	}
	if now, there := s.entries.Get(read.name); there {
		if _, isSection := now.(*section); !isSection {
			s.entries.Set(read.name, newSection(read.name, s.syntax))
		}
	} else {
		s.entries.Set(read.name, newSection(read.name, s.syntax))
	}
	_, err := s.section(read.name).update(read.entries)
	return err
}

// lines splits text like Python's splitlines.
func lines(text string) []string {
	list := lineEnd.Split(text, -1)
	if list[len(list)-1] == "" {
		return list[:len(list)-1]
	}
	return list
}

// read parses the lines of a section.
func (s *section) read(content string) error {
	content = strings.Trim(content, "\n")
	if content == "" {
		return nil
	}
	r := reader{section: s}
	for line := range strings.SplitSeq(content, "\n") {
		r.line(line)
	}
	return nil
}

// A reader adds lines to a section.
type reader struct {
	*section
	comments, unknown int
	indent            string
}

func (r *reader) line(line string) {
	if comment.MatchString(line) {
		r.comments++
		r.put(fmt.Sprintf("#comment%d", r.comments), line)
		return
	}
	if deep := wide(indent.FindString(line)); deep > r.indent && r.entries.Len() > 0 {
		key, v := r.entries.At(r.entries.Len() - 1)
		r.entries.Set(key, v.(string)+"\n"+line)
		return
	}
	if o, ok := r.syntax.option(line); ok {
		r.indent = o.indent
		r.put(o.name, o.value)
		return
	}
	r.unknown++
	r.put(fmt.Sprintf("#unknown%d", r.unknown), line)
}

func (r *reader) put(name, text string) {
	now, there := r.entries.Get(name)
	r.setText(name, text, now, there)
}
