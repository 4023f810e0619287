package jinja

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// A prettyPrinter formats values in lines of at most 80 characters, as Python's pprint.pformat
// does.
type prettyPrinter struct {
	r     *run
	b     strings.Builder
	above []any
}

const prettyWidth = 80

func (r *run) pprint(v any) (any, error) {
	p := &prettyPrinter{r: r}
	if err := p.value(v, 0, 0); err != nil {
		return nil, err
	}
	return p.b.String(), r.room(p.b.Len())
}

// value writes v, which begins at column indent and is followed by allowance characters.
func (p *prettyPrinter) value(v any, indent, allowance int) error {
	if p.b.Len() > p.r.limits.Value || len(p.above) > maxDepth {
		return p.r.room(-1)
	}
	if p.inside(v) {
		v = selfHeld(typeName(v))
	}
	flat, err := p.flat(v)
	if err != nil {
		return err
	}
	if runeCount(flat) <= prettyWidth-indent-allowance {
		p.b.WriteString(flat)
		return nil
	}
	p.above = append(p.above, v)
	defer func() { p.above = p.above[:len(p.above)-1] }()
	switch v := v.(type) {
	case *data.Map:
		return p.dict(v, indent, allowance)
	case *List:
		p.b.WriteByte('[')
		return p.items(v.Items, indent, allowance, "]")
	case data.Tuple:
		p.b.WriteByte('(')
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		return p.items(v, indent, allowance, end)
	case string:
		p.text(v, indent, allowance, len(p.above))
		return nil
	}
	p.b.WriteString(flat)
	return nil
}

// inside reports whether v is one of the lists and dicts that are being written.
func (p *prettyPrinter) inside(v any) bool {
	for _, a := range p.above {
		if sameable(v) && sameable(a) && v != nil && a == v {
			return true
		}
	}
	return false
}

// selfHeld is printed where a value contains itself; Python prints its address there.
type selfHeld string

// Text implements Texter.
func (s selfHeld) Text() string { return "<Recursion on " + string(s) + " with id=0>" }

// flat is repr with the keys of dicts in order.
func (p *prettyPrinter) flat(v any) (string, error) {
	sorted, err := p.sort(v, nil)
	if err != nil {
		return "", err
	}
	return p.r.repr(sorted)
}

// sort returns v with its dicts sorted; values that contain themselves stay as they are.
func (p *prettyPrinter) sort(v any, above []any) (any, error) {
	for _, a := range above {
		if a == v {
			return selfHeld(typeName(v)), nil
		}
	}
	if err := p.r.step(); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case *data.Map:
		keys, err := p.keys(x)
		if err != nil {
			return nil, err
		}
		out := &data.Map{}
		for _, k := range keys {
			value, err := p.sort(x.Value(k), append(above, v))
			if err != nil {
				return nil, err
			}
			out.Set(k, value)
		}
		return out, nil
	case *List:
		items, err := p.sortItems(x.Items, append(above, v))
		return &List{items}, err
	case data.Tuple:
		items, err := p.sortItems(x, above)
		return data.Tuple(items), err
	}
	return v, nil
}

func (p *prettyPrinter) sortItems(items, above []any) ([]any, error) {
	out := make([]any, len(items))
	for i, v := range items {
		var err error
		if out[i], err = p.sort(v, above); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keys returns the keys in order; keys that Python cannot compare are sorted by the name of their
// type.
func (p *prettyPrinter) keys(m *data.Map) ([]any, error) {
	keys := m.Keys()
	sorted, err := p.r.sorted(keys, keys, false)
	if !isKind(err, TypeError) {
		return sorted, err
	}
	names := make([]any, len(keys))
	for i, k := range keys {
		names[i] = "<class '" + typeName(k) + "'>"
	}
	return p.r.sorted(keys, names, false)
}

func (p *prettyPrinter) dict(m *data.Map, indent, allowance int) error {
	keys, err := p.keys(m)
	if err != nil {
		return err
	}
	p.b.WriteByte('{')
	for i, k := range keys {
		name, err := p.flat(k)
		if err != nil {
			return err
		}
		after := 1
		if i == len(keys)-1 {
			after = allowance + 1
		}
		p.b.WriteString(name + ": ")
		if err := p.value(m.Value(k), indent+1+runeCount(name)+2, after); err != nil {
			return err
		}
		if i < len(keys)-1 {
			p.b.WriteString(",\n" + strings.Repeat(" ", indent+1))
		}
	}
	p.b.WriteByte('}')
	return nil
}

func (p *prettyPrinter) items(items []any, indent, allowance int, end string) error {
	for i, v := range items {
		after := 1
		if i == len(items)-1 {
			after = allowance + len(end)
		}
		if err := p.value(v, indent+1, after); err != nil {
			return err
		}
		if i < len(items)-1 {
			p.b.WriteString(",\n" + strings.Repeat(" ", indent+1))
		}
	}
	p.b.WriteString(end)
	return nil
}

// text splits a long text into adjacent literals.
func (p *prettyPrinter) text(s string, indent, allowance, level int) {
	lines := splitLines(s, true)
	if level == 1 {
		indent++
		allowance++
	}
	var chunks []string
	for i, line := range lines {
		room := prettyWidth - indent
		if i == len(lines)-1 {
			room -= allowance
		}
		chunks = append(chunks, textChunks(line, room, prettyWidth-indent, i == len(lines)-1,
			allowance)...)
	}
	if len(chunks) == 1 {
		p.b.WriteString(chunks[0])
		return
	}
	if level == 1 {
		p.b.WriteByte('(')
	}
	p.b.WriteString(strings.Join(chunks, "\n"+strings.Repeat(" ", indent)))
	if level == 1 {
		p.b.WriteByte(')')
	}
}

// textChunks splits one line at spaces.
func textChunks(line string, room, full int, last bool, allowance int) []string {
	if whole := quote(line); runeCount(whole) <= room {
		return []string{whole}
	}
	var parts []string
	for s := line; s != ""; {
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			parts = append(parts, s)
			break
		}
		for end < len(s) && strings.IndexFunc(s[end:], isSpace) == 0 {
			end++
		}
		parts = append(parts, s[:end])
		s = s[end:]
	}
	var chunks []string
	current := ""
	for i, part := range parts {
		width := full
		if i == len(parts)-1 && last {
			width -= allowance
		}
		if runeCount(quote(current+part)) > width {
			if current != "" {
				chunks = append(chunks, quote(current))
			}
			current = part
		} else {
			current += part
		}
	}
	if current != "" {
		chunks = append(chunks, quote(current))
	}
	return chunks
}
