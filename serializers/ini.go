package serializers

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// defaultSection is the section whose options all others inherit.
const defaultSection = "DEFAULT"

// A dialect is the properties of Python's ConfigParser that depend on options.
type dialect struct {
	raw        bool      // % has no meaning
	valueless  bool      // options may have no value
	given      *data.Map // options that all sections have; nil for none
	delimiters []string
}

func dialectOf(o *options) (dialect, error) {
	d := dialect{valueless: o.truth("allow_no_value", false), delimiters: []string{"=", ":"}}
	d.raw = o.get("interpolation", false) == nil
	if list := o.get("delimiters", nil); list != nil {
		d.delimiters = nil
		items, ok := list.([]any)
		if !ok {
			items = []any{list}
		}
		for _, v := range items {
			d.delimiters = append(d.delimiters, data.Str(v))
		}
	}
	if v := o.get("defaults", nil); v != nil {
		m, ok := v.(*data.Map)
		if !ok {
			return d, fmt.Errorf("'%s' object has no attribute 'items'", typeOf(v))
		}
		d.given = m
	}
	if len(d.delimiters) == 0 {
		return d, errors.New("delimiters must not be empty")
	}
	return d, nil
}

// writeINI writes a dictionary of sections as ConfigParser.write does.
func writeINI(v any, o *options) (any, error) {
	top, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("configparser can only serialize dictionaries, not <class '%s'>",
			typeOf(v))
	}
	d, err := dialectOf(o)
	if err != nil {
		return nil, err
	}
	sections := data.NewMap()
	if d.given != nil {
		if err := d.add(sections, defaultSection, d.given); err != nil {
			return nil, err
		}
	}
	for name, body := range top.All() {
		if err := d.add(sections, data.Str(name), body); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	if m, ok := sections.Value(defaultSection).(*data.Map); ok && m.Len() > 0 {
		d.section(&b, defaultSection, m)
	}
	for name, m := range sections.All() {
		if name != defaultSection {
			d.section(&b, name.(string), m.(*data.Map))
		}
	}
	return b.String(), nil
}

// add adds a section with options as texts.
func (d dialect) add(sections *data.Map, name string, body any) error {
	if name != defaultSection && sections.Has(name) {
		return fmt.Errorf("Section %s already exists", data.Repr(name)) //nolint:staticcheck // Python's text
	}
	m, ok := body.(*data.Map)
	if !ok {
		return fmt.Errorf("'%s' object has no attribute 'items'", typeOf(body))
	}
	out, ok := sections.Value(name).(*data.Map) // the given defaults, for the section DEFAULT
	if !ok {
		out = data.NewMap()
	}
	for k, v := range m.All() {
		if v == nil && !d.valueless {
			return errors.New("option values must be strings")
		}
		if v != nil {
			text := data.Str(v)
			if !d.raw {
				if err := checkInterpolation(text); err != nil {
					return err
				}
			}
			v = text
		}
		out.Set(strings.ToLower(data.Str(k)), v)
	}
	sections.Set(name, out)
	return nil
}

var interpolated = regexp.MustCompile(`%\([^)]+\)s`)

func checkInterpolation(text string) error {
	rest := interpolated.ReplaceAllString(strings.ReplaceAll(text, "%%", ""), "")
	if i := strings.IndexByte(rest, '%'); i >= 0 {
		return fmt.Errorf("invalid interpolation syntax in %s at position %d", data.Repr(text),
			len([]rune(rest[:i])))
	}
	return nil
}

func (d dialect) section(b *strings.Builder, name string, m *data.Map) {
	b.WriteString("[" + name + "]\n")
	for k, v := range m.All() {
		b.WriteString(k.(string))
		if v != nil {
			b.WriteString(" " + d.delimiters[0] + " " +
				strings.ReplaceAll(v.(string), "\n", "\n\t"))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// readINI reads sections as ConfigParser does, with the options of DEFAULT in each.
func readINI(v any, o *options) (any, error) {
	text, ok := v.(string)
	if !ok {
		return nil, loader.TypeError("initial_value must be str or None, not %s", typeOf(v))
	}
	d, err := dialectOf(o)
	if err != nil {
		return nil, err
	}
	r := &iniReader{dialect: d, sections: data.NewMap(), defaults: data.NewMap(), indent: -1}
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		r.number++
		if err := r.line(line); err != nil {
			return nil, err
		}
	}
	if len(r.faults) > 0 {
		// Python's text
		return nil, errors.New("Source contains parsing errors: '<???>'" +
			strings.Join(r.faults, ""))
	}
	return r.result()
}

// An iniReader reads line by line. Each option has the lines of its value, or nil if it has none.
type iniReader struct {
	dialect
	sections, defaults *data.Map
	section            *data.Map // the current section
	name, option       string
	indent, number     int
	faults             []string
}

func (r *iniReader) line(line string) error {
	value := strings.TrimSpace(line)
	comment := strings.HasPrefix(value, "#") || strings.HasPrefix(value, ";")
	if value == "" || comment {
		if lines, ok := r.section.Value(r.option).([]string); ok && !comment && r.option != "" {
			r.section.Set(r.option, append(lines, ""))
		}
		return nil
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t\v\f"))
	if r.section != nil && r.option != "" && indent > r.indent {
		lines, _ := r.section.Value(r.option).([]string)
		r.section.Set(r.option, append(lines, value))
		return nil
	}
	r.indent = indent
	if end := strings.LastIndexByte(value, ']'); value[0] == '[' && end > 1 {
		return r.begin(value[1:end])
	}
	if r.section == nil {
		return fmt.Errorf("File contains no section headers.\nfile: '<???>', line: %d\n%s", r.number, data.Repr(line)) //nolint:staticcheck // Python's text
	}
	return r.set(line, value)
}

func (r *iniReader) begin(name string) error {
	switch {
	case r.sections.Has(name):
		return fmt.Errorf("While reading from '<???>' [line %2d]: section %s already exists", r.number, data.Repr(name)) //nolint:staticcheck // Python's text
	case name == defaultSection:
		r.section = r.defaults
	default:
		r.section = data.NewMap()
		r.sections.Set(name, r.section)
	}
	r.name, r.option = name, ""
	return nil
}

// set reads an option.
func (r *iniReader) set(line, value string) error {
	at, width := len(value), 0
	for _, d := range r.delimiters {
		if i := strings.Index(value, d); i >= 0 && i < at {
			at, width = i, len(d)
		}
	}
	option := strings.ToLower(strings.TrimSpace(value[:at]))
	if width == 0 && !r.valueless || option == "" {
		r.faults = append(r.faults, fmt.Sprintf("\n\t[line %2d]: %s", r.number, data.Repr(line)))
	}
	if width == 0 && !r.valueless {
		return nil
	}
	if r.section.Has(option) {
		return fmt.Errorf("While reading from '<???>' [line %2d]: option %s in section %s already exists", r.number, data.Repr(option), data.Repr(r.name)) //nolint:staticcheck // Python's text
	}
	r.option = option
	if width == 0 {
		r.section.Set(option, nil)
		return nil
	}
	r.section.Set(option, []string{strings.TrimSpace(value[at+width:])})
	return nil
}

func (r *iniReader) result() (any, error) {
	out, given := data.NewMap(), data.NewMap()
	if r.given != nil {
		if err := r.add(given, defaultSection, r.given); err != nil {
			return nil, err
		}
		given = given.Value(defaultSection).(*data.Map)
	}
	for name, own := range r.sections.All() {
		raw := given.Clone()
		for _, m := range []*data.Map{r.defaults, own.(*data.Map)} {
			for k, v := range m.All() {
				lines, ok := v.([]string)
				if !ok {
					raw.Set(k, nil)
					continue
				}
				raw.Set(k, strings.TrimRight(strings.Join(lines, "\n"), " \t\n\r\v\f"))
			}
		}
		section := data.NewMap()
		for k, v := range raw.All() {
			if text, ok := v.(string); ok && !r.raw {
				full, err := (&interpolation{options: raw, section: name.(string),
					option: k.(string), raw: text}).text(text, 1)
				if err != nil {
					return nil, err
				}
				v = full
			}
			if v == nil && !r.raw {
				v = "" // Python's interpolation converts None to this
			}
			section.Set(k, v)
		}
		out.Set(name, section)
	}
	return out, nil
}

// An interpolation replaces %(name)s in the value of an option.
type interpolation struct {
	options              *data.Map
	section, option, raw string
	filled               int // so far
}

// maxInterpolated limits the size of an interpolated value in bytes, and maxFilled the number of
// its parts.
const (
	maxInterpolated = 1 << 20
	maxFilled       = 100_000
)

func (p *interpolation) text(rest string, depth int) (string, error) {
	if depth > 10 {
		//nolint:staticcheck // Salt's text
		return "", fmt.Errorf("Recursion limit exceeded in value substitution: option %s in "+
			"section %s contains an interpolation key which cannot be substituted in 10 steps. Raw "+
			"value: %s",
			data.Repr(p.option), data.Repr(p.section), data.Repr(rest))
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(rest, "%")
		b.WriteString(before)
		if p.filled++; p.filled > maxFilled || b.Len() > maxInterpolated {
			return "", fmt.Errorf("option %s expands to more than %d bytes or %d parts",
				data.Repr(p.option), maxInterpolated, maxFilled)
		}
		if !found {
			return b.String(), nil
		}
		if strings.HasPrefix(after, "%") {
			b.WriteByte('%')
			rest = after[1:]
			continue
		}
		name, left, err := p.name("%" + after)
		if err != nil {
			return "", err
		}
		v, ok := p.options.Value(name).(string)
		if !ok {
			return "", fmt.Errorf("Bad value substitution: option %s in section %s contains an interpolation key %s which is not a valid option name. Raw value: %s", //nolint:staticcheck // Python's text
				data.Repr(p.option), data.Repr(p.section), data.Repr(name), data.Repr(p.raw))
		}
		if strings.Contains(v, "%") {
			if v, err = p.text(v, depth+1); err != nil {
				return "", err
			}
		}
		b.WriteString(v)
		rest = left
	}
}

// name parses %(name)s at the beginning of a text.
func (p *interpolation) name(rest string) (name, left string, err error) {
	if !strings.HasPrefix(rest, "%(") {
		return "", "", fmt.Errorf("'%%' must be followed by '%%' or '(', found: %s",
			data.Repr(rest))
	}
	m := interpolated.FindString(rest)
	if m == "" || !strings.HasPrefix(rest, m) {
		return "", "", fmt.Errorf("bad interpolation variable reference %s", data.Repr(rest))
	}
	return strings.ToLower(m[2 : len(m)-2]), rest[len(m):], nil
}
