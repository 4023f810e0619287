package match

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// class translates [ … ]. A bracket inside is text in Python, but begins a named class in Go.
func (t *translator) class() error {
	begin := t.pos
	t.pos++
	t.emit("[")
	if t.at("^") {
		t.pos++
		t.emit("^")
	}
	for first := true; ; first = false {
		switch {
		case t.pos >= len(t.src):
			return fmt.Errorf("unterminated character set at position %d", begin)
		case t.src[t.pos] == ']' && !first:
			t.pos++
			t.emit("]")
			return nil
		}
		if err := t.classItem(); err != nil {
			return err
		}
	}
}

func (t *translator) at(s string) bool { return strings.HasPrefix(t.src[t.pos:], s) }

// classItem translates one character of a class or an escape.
func (t *translator) classItem() error {
	switch c := t.src[t.pos]; c {
	case '[', ']', '^', '&', '~':
		t.pos++
		t.emit(`\` + string(c))
		return nil
	case '\\':
		return t.escapeInClass()
	}
	t.copy()
	return nil
}

func (t *translator) escapeInClass() error {
	if t.pos+1 >= len(t.src) {
		return fmt.Errorf("unterminated character set")
	}
	inside, ok := t.classEscape(t.src[t.pos+1])
	if !ok {
		return t.charEscape(true)
	}
	t.pos += 2
	if err := t.spendClass(); err != nil {
		return err
	}
	if !strings.HasPrefix(inside, "^") {
		t.emit(t.spelled(inside))
		return nil
	}
	ranges, err := t.complement(inside)
	t.emit(ranges)
	return err
}

// complement returns the contents of a negated class as plain ranges, for use inside another class.
func (t *translator) complement(inside string) (string, error) {
	tree, err := syntax.Parse("["+inside+"]", syntax.Perl)
	if err != nil {
		return "", syntaxError(err)
	}
	form := `\x{%x}-\x{%x}`
	if t.back != nil {
		form = `%s-%s`
	}
	var b strings.Builder
	for i := 0; i+1 < len(tree.Rune); i += 2 {
		from, to := any(tree.Rune[i]), any(tree.Rune[i+1])
		if t.back != nil {
			from, to = quoteRune(tree.Rune[i]), quoteRune(tree.Rune[i+1])
		}
		fmt.Fprintf(&b, form, from, to)
	}
	return b.String(), nil
}
