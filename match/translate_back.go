package match

import (
	"fmt"
	"strconv"
	"strings"
)

// A numbering tracks the groups of a translation for the backtracking engine, which identifies
// groups by number.
type numbering struct {
	count int
	names map[string]int
}

// translateBack translates for the backtracking engine.
func translateBack(src string, f flags) (string, *numbering, error) {
	t := translator{src: src, flags: []flags{f}, usage: &usage{},
		back: &numbering{names: map[string]int{}}}
	if err := t.group(outside); err != nil {
		return "", nil, err
	}
	return t.out.String(), t.back, nil
}

// backReference translates \1 to \99.
func (t *translator) backReference() error {
	size := 2
	if t.pos+2 < len(t.src) && t.src[t.pos+2] >= '0' && t.src[t.pos+2] <= '9' {
		size = 3
	}
	n, _ := strconv.Atoi(t.src[t.pos+1 : t.pos+size])
	if n > t.back.count {
		return fmt.Errorf("invalid group reference %d at position %d", n, t.pos+1)
	}
	t.pos += size
	t.emit(fmt.Sprintf(`(?:\%d)`, n))
	return nil
}

// namedReference translates (?P=name).
func (t *translator) namedReference() error {
	name, size, err := t.word(len("(?P="))
	if err != nil {
		return err
	}
	n, ok := t.back.names[name]
	if !ok {
		return fmt.Errorf("unknown group name '%s' at position %d", name, t.pos+len("(?P="))
	}
	t.pos += size
	t.emit(fmt.Sprintf(`(?:\%d)`, n))
	return nil
}

// conditional translates (?(group)yes|no).
func (t *translator) conditional() error {
	name, size, err := t.word(len("(?("))
	if err != nil {
		return err
	}
	n, ok := t.back.names[name]
	if !ok {
		if n, err = strconv.Atoi(name); err != nil {
			return fmt.Errorf("unknown group name '%s' at position %d", name, t.pos+len("(?("))
		}
	}
	if n < 1 || n > t.back.count {
		return fmt.Errorf("invalid group reference %d at position %d", n, t.pos+len("(?("))
	}
	return t.inside(fmt.Sprintf("(?(%d)", n), size, *t.top())
}

// word returns the text from an offset up to the closing bracket, and the total size.
func (t *translator) word(from int) (string, int, error) {
	end := strings.IndexByte(t.src[t.pos:], ')')
	if end < from {
		return "", 0, fmt.Errorf("missing ), unterminated name at position %d", t.pos+from)
	}
	return t.src[t.pos+from : t.pos+end], end + 1, nil
}
