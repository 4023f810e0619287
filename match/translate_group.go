package match

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// open translates a group and what follows its opening bracket.
func (t *translator) open() error {
	rest := t.src[t.pos:]
	for _, a := range []struct {
		begin          string
		behind, negate bool
	}{{"(?=", false, false}, {"(?!", false, true}, {"(?<=", true, false}, {"(?<!", true, true}} {
		if strings.HasPrefix(rest, a.begin) {
			if t.back != nil {
				return t.inside(a.begin, len(a.begin), *t.top())
			}
			t.pos += len(a.begin)
			return t.assertion(a.behind, a.negate)
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?#"):
		return t.skipComment()
	case t.back != nil && strings.HasPrefix(rest, "(?P="):
		return t.namedReference()
	case t.back != nil && strings.HasPrefix(rest, "(?("):
		return t.conditional()
	case t.back != nil && strings.HasPrefix(rest, "(?>"):
		return t.inside("(?>", 3, *t.top())
	case strings.HasPrefix(rest, "(?P="):
		return fmt.Errorf("back-references are %w", ErrUnsupported)
	case strings.HasPrefix(rest, "(?("):
		return fmt.Errorf("conditionals are %w", ErrUnsupported)
	case strings.HasPrefix(rest, "(?>"):
		return fmt.Errorf("atomic groups are %w", ErrUnsupported)
	case strings.HasPrefix(rest, "(?P<"):
		return t.named()
	case strings.HasPrefix(rest, "(?"):
		return t.flagged()
	}
	return t.plain("(", 1)
}

// plain translates the inside of a group after writing its beginning, which has size bytes in the
// source.
func (t *translator) plain(begin string, size int) error {
	if t.back != nil {
		t.back.count++
	}
	return t.inside(begin, size, *t.top())
}

func (t *translator) inside(begin string, size int, f flags) error {
	from := t.pos
	t.pos += size
	t.emit(begin)
	t.flags = append(t.flags, f)
	if err := t.group(from); err != nil {
		return err
	}
	t.flags = t.flags[:len(t.flags)-1]
	t.pos++
	t.emit(")")
	return nil
}

func (t *translator) skipComment() error {
	n := strings.IndexByte(t.src[t.pos:], ')')
	if n < 0 {
		return fmt.Errorf("missing ), unterminated comment")
	}
	t.pos += n + 1
	return nil
}

// named drops the name: nothing here reads groups.
func (t *translator) named() error {
	n := strings.IndexByte(t.src[t.pos:], '>')
	if n < 0 {
		return fmt.Errorf("missing >, unterminated name")
	}
	if !identifier(t.src[t.pos+4 : t.pos+n]) {
		return fmt.Errorf("bad character in group name %q", clip(t.src[t.pos+4:t.pos+n]))
	}
	begin := "("
	if t.back != nil {
		t.back.names[t.src[t.pos+4:t.pos+n]] = t.back.count + 1
	} else if name := t.src[t.pos+4 : t.pos+n]; strings.IndexFunc(name,
		func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		begin = "(?P<" + name + ">" // Go supports only ASCII names
	}
	return t.plain(begin, n+1)
}

func identifier(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < 0x80) &&
			(i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// flagged translates (?i), (?s-i:…) and (?:…).
func (t *translator) flagged() error {
	n := strings.IndexAny(t.src[t.pos:], "):")
	if n < 0 {
		return fmt.Errorf("missing -, : or )")
	}
	set, f, err := t.readFlags(t.src[t.pos+2 : t.pos+n])
	if err != nil {
		return err
	}
	if t.src[t.pos+n] == ':' {
		return t.inside("(?"+set+":", n+1, f)
	}
	if t.pos != t.head {
		return fmt.Errorf("global flags not at the start of the expression at position %d", t.pos)
	}
	*t.top() = f
	t.pos += n + 1
	t.head = t.pos
	if set != "" {
		t.emit("(?" + set + ")")
	}
	return nil
}

// readFlags parses the letters of a flag group: set is the part for Go's syntax, f the flags in
// force inside.
func (t *translator) readFlags(s string) (set string, f flags, err error) {
	f = *t.top()
	plus, minus, off := strings.Cut(s, "-")
	if off && minus == "" {
		return "", f, fmt.Errorf("missing flag")
	}
	for _, r := range plus {
		if !f.setFlag(r, true) {
			return "", f, fmt.Errorf("unknown extension or flag %q", clip("(?"+s))
		}
	}
	for _, r := range minus {
		if r == 'a' || r == 'u' || !f.setFlag(r, false) {
			return "", f, fmt.Errorf("unknown extension or flag %q", clip("(?"+s))
		}
	}
	set = known(plus)
	if m := known(minus); m != "" {
		set += "-" + m
	}
	return set, f, nil
}

// setFlag sets one flag and reports whether there is one of that letter.
func (f *flags) setFlag(r rune, on bool) bool {
	switch r {
	case 'i':
		f.fold = on
	case 's':
		f.dotAll = on
	case 'm':
		f.multiline = on
	case 'x':
		f.verbose = on
	case 'a', 'u':
		f.ascii = r == 'a'
	default:
		return false
	}
	return true
}

// known keeps the flags that Go's syntax supports.
func known(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("ims", r) {
			return r
		}
		return -1
	}, s)
}

// assertion removes a look-ahead or look-behind from the text and leaves its mark.
func (t *translator) assertion(behind, negate bool) error {
	if t.usage.asserts++; t.usage.asserts > maxMarks {
		return fmt.Errorf("%w: more than %d assertions", ErrTooBig, maxMarks)
	}
	from := t.pos - len("(?=")
	if behind {
		from--
	}
	sub := translator{src: t.src, pos: t.pos, flags: append(slices.Clone(t.flags), *t.top()),
		usage: t.usage, head: -1}
	if err := sub.group(from); err != nil {
		return err
	}
	t.pos = sub.pos + 1
	body := &translation{text: t.top().set() + sub.out.String(), asserts: sub.asserts}
	mark := marks + len(t.asserts)
	t.asserts = append(t.asserts, assertion{body: body, behind: behind, negate: negate})
	t.emit(fmt.Sprintf(`(\x{%x})`, mark))
	return nil
}
