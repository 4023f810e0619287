package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

func asciiEscape(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// A formatter is one call of text.format(...) in the sandbox (jinja2.sandbox.SandboxedFormatter).
type formatter struct {
	r      *run
	args   []any
	kw     []Keyword
	auto   int // the next number for {}; -1 once explicit numbers are used
	escape bool
}

func (r *run) formatText(self any, args []any, kw []Keyword) (any, error) {
	f := &formatter{r: r, args: args, kw: kw}
	_, f.escape = self.(Markup)
	s, _ := textOf(self)
	out, err := f.format(s, 2)
	return like(self, out), err
}

func (f *formatter) format(s string, depth int) (string, error) {
	if depth < 0 {
		return "", Raise(ValueError, "Max string recursion exceeded")
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		c := s[i]
		s = s[i+1:]
		if strings.HasPrefix(s, string(c)) {
			b.WriteByte(c)
			s = s[1:]
			continue
		}
		if c == '}' {
			return "", Raise(ValueError, "Single '}' encountered in format string")
		}
		field, rest, err := fieldOf(s)
		if err != nil {
			return "", err
		}
		text, err := f.field(field, depth)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		if err := f.r.room(len(text)); err != nil {
			return "", err
		}
		s = rest
	}
	return b.String(), f.r.room(b.Len())
}

// fieldOf splits off a field after its opening brace.
func fieldOf(s string) (field, rest string, err error) {
	if s == "" {
		return "", "", Raise(ValueError, "Single '{' encountered in format string")
	}
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '[':
			if depth == 1 {
				if end := strings.IndexByte(s[i:], ']'); end < 0 {
					return "", "", Raise(ValueError, "expected '}' before end of string")
				}
			}
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return s[:i], s[i+1:], nil
		}
	}
	return "", "", Raise(ValueError, "expected '}' before end of string")
}

// field formats one field: name!conversion:spec.
func (f *formatter) field(field string, depth int) (string, error) {
	name, conversion, spec, err := cutField(field)
	if err != nil {
		return "", err
	}
	v, err := f.lookup(name)
	if err != nil {
		return "", err
	}
	if conversion != "" {
		if v, err = f.converted(v, conversion); err != nil {
			return "", err
		}
	}
	if spec, err = f.format(spec, depth-1); err != nil {
		return "", err
	}
	if m, ok := v.(Markup); ok && f.escape {
		if spec != "" {
			return "", Raise(ValueError, "Unsupported format specification for Markup.")
		}
		return string(m), nil
	}
	text, err := f.r.formatValue(v, spec)
	if f.escape {
		text = escapeHTML(text)
	}
	return text, err
}

func cutField(field string) (name, conversion, spec string, err error) {
	end, inBrackets := len(field), false
	for i := range len(field) {
		switch c := field[i]; {
		case c == '[':
			inBrackets = true
		case c == ']':
			inBrackets = false
		case (c == ':' || c == '!') && !inBrackets:
			end = i
		case c == '{' && !inBrackets:
			return "", "", "", Raise(ValueError, "unexpected '{' in field name")
		}
		if end < len(field) {
			break
		}
	}
	name, field = field[:end], field[end:]
	if strings.HasPrefix(field, "!") {
		if len(field) < 2 {
			return "", "", "", Raise(ValueError,
				"end of string while looking for conversion specifier")
		}
		conversion, field = field[1:2], field[2:]
		if field != "" && field[0] != ':' {
			return "", "", "", Raise(ValueError, "expected ':' after conversion specifier")
		}
	}
	return name, conversion, strings.TrimPrefix(field, ":"), nil
}

func (f *formatter) converted(v any, how string) (any, error) {
	switch how {
	case "s":
		return f.r.str(v)
	case "r":
		return f.r.repr(v)
	case "a":
		text, err := f.r.repr(v)
		return asciiOnly(text), err
	}
	return nil, Raise(ValueError, "Unknown conversion specifier %s", how)
}

// lookup finds the value of a field name: first.attr[item].
func (f *formatter) lookup(name string) (any, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v, err := f.first(name[:end])
	rest := name[end:]
	for err == nil && rest != "" {
		if rest[0] == '.' {
			rest = rest[1:]
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, Raise(ValueError, "Empty attribute in format string")
			}
			v, err = f.r.getattr(v, rest[:end])
			rest = rest[end:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return nil, Raise(ValueError, "Only '.' or '[' may follow ']' in format field specifier")
		}
		if end == 1 {
			return nil, Raise(ValueError, "Empty attribute in format string")
		}
		v, err = f.r.getitem(v, fieldKey(rest[1:end]))
		rest = rest[end+1:]
	}
	return v, err
}

func fieldKey(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && s[0] != '-' && s[0] != '+' {
		return n
	}
	return s
}

func (f *formatter) first(name string) (any, error) {
	n, isNumber := fieldKey(name + "").(int64)
	if name == "" {
		if f.auto < 0 {
			return nil, Raise(ValueError, "cannot switch from manual field specification to automatic field numbering")
		}
		n, isNumber = int64(f.auto), true
		f.auto++
	} else if isNumber {
		if f.auto > 0 {
			return nil, Raise(ValueError, "cannot switch from manual field specification to automatic field numbering")
		}
		f.auto = -1
	}
	if isNumber {
		if n >= int64(len(f.args)) {
			return nil, Raise(IndexError, "tuple index out of range")
		}
		return f.args[n], nil
	}
	for _, k := range f.kw {
		if k.Name == name {
			return k.Value, nil
		}
	}
	return nil, Raise(KeyError, "%s", quote(name))
}
