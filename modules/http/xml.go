package http

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/brineproject/brine/data"
)

// maxDepth is the maximum nesting depth of elements.
const maxDepth = 1000

// An element is an XML element. Its text is the text before its first child.
type element struct {
	name string
	text []byte
	kids []*element
}

// elements returns the children of the root of a document, each as a dictionary
// (salt/utils/xmlutil.py, to_dict).
func elements(src string) ([]any, error) {
	root, err := parseXML(src)
	if err != nil {
		return nil, fmt.Errorf("parse the response as XML: %w", err)
	}
	out := []any{}
	for _, kid := range root.kids {
		out = append(out, kid.dict())
	}
	return out, nil
}

// value returns the text of an element, or nil if it has none.
func (e *element) value() any {
	if len(e.text) == 0 {
		return nil
	}
	return string(e.text)
}

// dict returns an element as a dictionary of its children by name. Several children of one name
// become a list. A child without children is its text.
func (e *element) dict() *data.Map {
	if len(e.kids) == 0 {
		return data.NewMap(e.name, e.value())
	}
	out := data.NewMap()
	for _, kid := range e.kids {
		now, found := out.Get(kid.name)
		switch list, many := now.([]any); {
		case !found && len(kid.kids) > 0:
			out.Set(kid.name, kid.dict())
		case !found:
			out.Set(kid.name, kid.value())
		case many:
			out.Set(kid.name, append(list, kid.dict()))
		default:
			out.Set(kid.name, []any{now, kid.dict()})
		}
	}
	return out
}

// parseXML returns the root of a document. The text must be UTF-8, whatever encoding it declares.
func parseXML(src string) (*element, error) {
	d := xml.NewDecoder(strings.NewReader(src))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	top := &element{}
	open := []*element{top}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if open, err = step(open, token); err != nil {
			return nil, err
		}
	}
	if len(top.kids) != 1 {
		return nil, fmt.Errorf("the document has %d root elements", len(top.kids))
	}
	return top.kids[0], nil
}

// step adds a token to the innermost open element.
func step(open []*element, token xml.Token) ([]*element, error) {
	last := open[len(open)-1]
	switch t := token.(type) {
	case xml.StartElement:
		if len(open) > maxDepth {
			return nil, fmt.Errorf("elements are nested more than %d deep", maxDepth)
		}
		kid := &element{name: t.Name.Local}
		last.kids = append(last.kids, kid)
		return append(open, kid), nil
	case xml.EndElement:
		return open[:len(open)-1], nil
	case xml.CharData:
		if len(last.kids) == 0 {
			last.text = append(last.text, t...)
		}
	}
	return open, nil
}
