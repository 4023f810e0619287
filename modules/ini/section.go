package ini

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A section has options, which are strings by name, and sections. Comments and other lines that are
// kept have names that begin with #.
type section struct {
	name    string
	entries *data.Map // string or *section by name
	syntax  *syntax
}

func newSection(name string, s *syntax) *section {
	return &section{name: name, entries: &data.Map{}, syntax: s}
}

// keyText returns a name in the form used in a file.
func keyText(name any) string {
	if name == nil {
		return ""
	}
	return data.Str(name)
}

// section returns a section of s, or nil.
func (s *section) section(name any) *section {
	found, _ := s.entries.Value(keyText(name)).(*section)
	return found
}

// value returns an option, or a section as a dictionary, or nil if there is none. A nil section is
// empty.
func (s *section) value(name any) any {
	if s == nil {
		return nil
	}
	return shown(s.entries.Value(keyText(name)))
}

// shown returns an entry as a value of package data, including comments.
func shown(entry any) any {
	s, ok := entry.(*section)
	if !ok {
		return entry
	}
	all := &data.Map{}
	for name, v := range s.entries.All() {
		all.Set(name, shown(v))
	}
	return all
}

// options returns the content of a section of s without comments.
func (s *section) options(name any) (*data.Map, error) {
	entry, ok := s.entries.Get(keyText(name))
	if !ok {
		return data.NewMap(), nil
	}
	found, ok := entry.(*section)
	if !ok {
		return nil, loader.Exception("AttributeError", "'str' object has no attribute 'items'")
	}
	return found.converted(shown), nil
}

// plain returns the content of s and its subsections without comments.
func (s *section) plain() *data.Map {
	return s.converted(func(entry any) any {
		if inner, ok := entry.(*section); ok {
			return inner.plain()
		}
		return entry
	})
}

// converted returns the options and sections of s, each converted by value.
func (s *section) converted(value func(any) any) *data.Map {
	result := data.NewMap()
	for name, v := range s.entries.All() {
		if !strings.HasPrefix(name.(string), "#") {
			result.Set(name, value(v))
		}
	}
	return result
}

// update sets options and sections, and returns the changes. Values are converted like Python's str
// does.
func (s *section) update(wanted *data.Map) (*data.Map, error) {
	changes := data.NewMap()
	for key, v := range wanted.All() {
		name := keyText(key)
		change, err := s.set(name, v)
		if err != nil {
			return nil, err
		}
		if change.Len() > 0 {
			changes.Set(name, change)
		}
	}
	return changes, nil
}

// set sets an option or section, and returns the changes.
func (s *section) set(name string, value any) (*data.Map, error) {
	options, nested := value.(*data.Map)
	now, there := s.entries.Get(name)
	old, isSection := now.(*section)
	switch {
	case isSection && nested:
		return old.update(options)
	case isSection:
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'items'",
			loader.TypeName(data.Str(value)))
	case nested:
		made := newSection(name, s.syntax)
		if _, err := made.update(options); err != nil {
			return nil, err
		}
		s.entries.Set(name, made)
		return beforeAfter(now, shown(made)), nil
	}
	return s.setText(name, data.Str(value), now, there), nil
}

func (s *section) setText(name, text string, now any, there bool) *data.Map {
	if there && now == text {
		return nil
	}
	if !there {
		s.makeRoom(name)
	}
	s.entries.Set(name, text)
	return beforeAfter(now, text)
}

func beforeAfter(before, after any) *data.Map {
	return data.NewMap("before", before, "after", after)
}

// makeRoom puts a new option in the place of the first comment that contains it, and removes the
// comment. Without such a comment the option goes to the end.
func (s *section) makeRoom(name string) {
	at := s.commented(name)
	var after []any
	if at >= 0 {
		after = s.entries.Keys()[at:]
	}
	kept := &data.Map{}
	for _, key := range after {
		kept.Set(key, s.entries.Value(key))
		s.entries.Delete(key)
	}
	s.entries.Set(name, "")
	for i := 1; i < kept.Len(); i++ {
		s.entries.Set(kept.At(i))
	}
}

// commented returns the index of the first comment that contains an option, or -1.
func (s *section) commented(option string) int {
	for i := range s.entries.Len() {
		key, v := s.entries.At(i)
		text, isText := v.(string)
		if !isText || !strings.Contains(key.(string), "#comment") ||
			!strings.Contains(text, option) {
			continue
		}
		if o, ok := s.syntax.option(strings.TrimLeft(text, "#")); ok && o.name == option {
			return i
		}
	}
	return -1
}

// write appends s in the form of a file.
func (s *section) write(b *strings.Builder) {
	b.WriteString("\n[" + s.name + "]\n")
	s.writeBody(b)
}

func (s *section) writeBody(b *strings.Builder) {
	var sections []*section
	for name, v := range s.entries.All() {
		inner, isSection := v.(*section)
		switch {
		case comment.MatchString(name.(string)):
			b.WriteString(data.Str(shown(v)) + "\n")
		case isSection:
			sections = append(sections, inner)
		default:
			b.WriteString(name.(string) + s.syntax.between() + v.(string) + "\n")
		}
	}
	for _, inner := range sections {
		inner.write(b)
	}
}
