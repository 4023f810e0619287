package saltjinja

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// An element is an XML element.
type element struct {
	tag      string
	attrs    []string // name="value"
	text     string
	children []*element
}

// filterXML writes a dict as XML: its scalars are attributes, its dicts and lists elements
// (format_xml).
func filterXML(c *jinja.Call, v any) (any, error) {
	root, err := xmlTree(c, v, nil, 0)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, jinja.Raise(jinja.AttributeError, "'NoneType' object has no attribute 'iter'")
	}
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" ?>\n")
	root.write(&b, "")
	return jinja.Markup(b.String()), c.Room(b.Len())
}

// xmlItems returns the pairs of a dict. For a list it fails as Salt does.
func xmlItems(v any) (*data.Map, error) {
	var items []any
	switch v := v.(type) {
	case *data.Map:
		return v, nil
	case *jinja.List:
		items = v.Items
	case data.Tuple:
		items = v
	default:
		return nil, jinja.Raise(jinja.RuntimeError,
			"Value is not a dict or list. Cannot render as XML")
	}
	if len(items) == 0 {
		return nil, jinja.Raise(jinja.IndexError, "list index out of range")
	}
	if _, ok := textOf(items[0]); !ok {
		return nil, nil
	}
	for _, item := range items {
		if s, ok := textOf(item); ok && len([]rune(s)) < 2 {
			return nil, jinja.Raise(jinja.IndexError, "string index out of range")
		}
	}
	return nil, nil
}

func xmlTree(c *jinja.Call, v any, parent *element, depth int) (*element, error) {
	if depth > 200 {
		return nil, jinja.Raise(jinja.PythonError, "maximum recursion depth exceeded")
	}
	m, err := xmlItems(v)
	if err != nil {
		return nil, err
	}
	var last *element
	for tag, value := range m.All() {
		e, err := xmlElement(c, tag, value, parent, depth)
		if err != nil {
			return nil, err
		}
		if e != nil {
			last = e
		}
	}
	return last, nil
}

func xmlElement(c *jinja.Call, tag, v any, parent *element, depth int) (*element, error) {
	name, err := c.Str(tag)
	if err != nil {
		return nil, err
	}
	if list, ok := v.(*jinja.List); ok {
		for _, item := range list.Items {
			if _, err := xmlTree(c, data.NewMap(tag, item), parent, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := xmlItems(v)
		return nil, err
	}
	e := &element{tag: name}
	if parent != nil {
		parent.children = append(parent.children, e)
	}
	switch v.(type) {
	case string, jinja.Markup, bool, int64, float64:
		e.text, err = c.Str(v)
		return e, err
	}
	return e, e.fill(c, v, depth)
}

// fill sets the attributes and children of an element from a dict.
func (e *element) fill(c *jinja.Call, v any, depth int) error {
	m, err := xmlItems(v)
	if err != nil {
		return err
	}
	for k, item := range m.All() {
		if !isContainer(item) {
			text, err := c.Str(item)
			if err != nil {
				return err
			}
			e.attrs = append(e.attrs, data.Str(k)+`="`+xmlEscape(text)+`"`)
		}
	}
	for k, item := range m.All() {
		if isContainer(item) {
			if _, err := xmlTree(c, data.NewMap(k, item), e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func xmlEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", ">", "&gt;").Replace(s)
}

// write is toprettyxml of Python's minidom.
func (e *element) write(b *strings.Builder, indent string) {
	b.WriteString(indent + "<" + e.tag)
	for _, a := range e.attrs {
		b.WriteString(" " + a)
	}
	switch {
	case e.text != "":
		b.WriteString(">" + xmlEscape(e.text) + "</" + e.tag + ">\n")
	case len(e.children) == 0:
		b.WriteString("/>\n")
	default:
		b.WriteString(">\n")
		for _, child := range e.children {
			child.write(b, indent+" ")
		}
		b.WriteString(indent + "</" + e.tag + ">\n")
	}
}
