package jinja

import (
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// maxDepth limits the nesting of values that are printed or compared.
const maxDepth = 500

func itoa(n int) string { return strconv.Itoa(n) }

// isSpace is str.isspace of one character.
func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1c && r <= 0x1f
	}
	return unicode.IsSpace(r)
}

// textOf returns the text of a str or Markup.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// normal returns a number in the form of template values: *big.Int only beyond 64 bits.
func normal(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

// typeName is type(v).__name__.
func typeName(v any) string {
	name := typePath(v)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// typePath returns the name with its module, for types that are not built in.
func typePath(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, int, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case Markup:
		return "markupsafe.Markup"
	case []byte, data.Raw:
		return "bytes"
	case *List, []any:
		return "list"
	case data.Tuple:
		return "tuple"
	case *data.Map:
		return "dict"
	case *Undefined:
		return [...]string{"jinja2.runtime.Undefined", "jinja2.runtime.ChainableUndefined",
			"jinja2.runtime.DebugUndefined", "jinja2.runtime.StrictUndefined"}[v.lenience]
	case time.Time:
		return "datetime.datetime"
	case Namer:
		return v.TypeName()
	case Iterator:
		return "generator"
	}
	return "object"
}

// objectType describes the owner of an attribute in messages (jinja2.utils.object_type_repr).
func objectType(v any) string {
	if v == nil {
		return "None"
	}
	return typePath(v) + " object"
}

func (r *run) truth(v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil
	case string:
		return v != "", nil
	case *List:
		return len(v.Items) > 0, nil
	case *Undefined:
		return false, v.strict()
	case Markup:
		return v != "", nil
	}
	if data.Plain(v) {
		return data.Truth(v), nil
	}
	if n, ok := lengthOf(v); ok {
		return n > 0, nil
	}
	return true, nil
}

// lengthOf returns the length of a value that has one without being read.
func lengthOf(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case Markup:
		return utf8.RuneCountInString(string(v)), true
	case []byte:
		return len(v), true
	case *List:
		return len(v.Items), true
	case data.Tuple:
		return len(v), true
	case *data.Map:
		return v.Len(), true
	case Sized:
		return v.Len(), true
	}
	return 0, false
}

func (r *run) length(v any) (any, error) {
	if u, ok := v.(*Undefined); ok {
		return int64(0), u.strict()
	}
	n, ok := lengthOf(v)
	if !ok {
		return nil, Raise(TypeError, "object of type '%s' has no len()", typeName(v))
	}
	return int64(n), nil
}

// str is Python's str().
func (r *run) str(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case Markup:
		return string(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case *Undefined:
		return v.text()
	case time.Time:
		return data.Str(v), nil
	case *module:
		return v.text, nil
	}
	return r.repr(v)
}

// repr is Python's repr(), with a limit.
func (r *run) repr(v any) (string, error) {
	p := printer{limit: r.limits.Value}
	p.value(v)
	if p.err != nil {
		return "", p.err
	}
	return string(p.b), r.room(len(p.b))
}

// reprOf is repr for messages.
func reprOf(v any) string {
	p := printer{limit: 10_000}
	p.value(v)
	if p.err != nil {
		return "..."
	}
	return string(p.b)
}

// A printer writes values as repr does. A value that contains itself prints as [...] or {...}.
type printer struct {
	b     []byte
	limit int
	above []any
	err   error
}

func (p *printer) inside(v any) bool {
	for _, a := range p.above {
		if a == v {
			return true
		}
	}
	p.above = append(p.above, v)
	if len(p.above) > maxDepth {
		p.err = Raise(PythonError, "maximum recursion depth exceeded while getting the repr of an object")
	}
	return false
}

func (p *printer) leave() { p.above = p.above[:len(p.above)-1] }

func (p *printer) add(s string) { p.b = append(p.b, s...) }

func (p *printer) value(v any) {
	if p.err != nil {
		return
	}
	if len(p.b) > p.limit {
		p.err = Raise(LimitError, "a value prints as more than %d bytes", p.limit)
		return
	}
	switch v := v.(type) {
	case *List:
		p.list(v)
	case *data.Map:
		p.dict(v)
	case data.Tuple:
		p.tuple(v)
	case Markup:
		p.add("Markup(")
		p.b = append(data.AppendRepr(p.b, string(v)), ')')
	case *Undefined:
		p.add("Undefined")
	case Texter:
		p.add(v.Text())
	case reprer:
		v.repr(p)
	case Iterator:
		p.add("<generator object>")
	case *big.Int:
		p.big(v)
	default:
		p.b = data.AppendRepr(p.b, v)
	}
}

// reprer is a value that contains others and prints them.
type reprer interface{ repr(p *printer) }

// maxDigits is the longest integer that Python converts to or from text.
const maxDigits = 4300

func (p *printer) big(n *big.Int) {
	if n.BitLen() > maxDigits*4 || len(n.Text(10)) > maxDigits+1 {
		p.err = Raise(ValueError, "Exceeds the limit (%d digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit", maxDigits)
		return
	}
	p.b = n.Append(p.b, 10)
}

func (p *printer) items(items []any) {
	for i, v := range items {
		if i > 0 {
			p.add(", ")
		}
		p.value(v)
	}
}

func (p *printer) list(l *List) {
	if p.inside(l) {
		p.add("[...]")
		return
	}
	p.add("[")
	p.items(l.Items)
	p.add("]")
	p.leave()
}

func (p *printer) tuple(t data.Tuple) {
	p.above = append(p.above, nil)
	if len(p.above) > maxDepth {
		p.err = Raise(PythonError, "maximum recursion depth exceeded while getting the repr of an object")
		return
	}
	p.add("(")
	p.items(t)
	if len(t) == 1 {
		p.add(",")
	}
	p.add(")")
	p.leave()
}

func (p *printer) dict(m *data.Map) {
	if p.inside(m) {
		p.add("{...}")
		return
	}
	p.add("{")
	for i := range m.Len() {
		if i > 0 {
			p.add(", ")
		}
		k, v := m.At(i)
		p.value(k)
		p.add(": ")
		p.value(v)
	}
	p.add("}")
	p.leave()
}
