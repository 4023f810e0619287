package glusterfs

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/brineproject/brine/data"
)

// A node is an element of an answer of gluster.
type node struct {
	tag        string
	attributes []xml.Attr
	text       any // before the first child; nil if there is none
	children   []*node
}

// parse reads an answer. Programs before version 6 print their prompt before it.
func parse(answer string) (*node, error) {
	var b strings.Builder
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "Welcome to gluster prompt") {
			continue
		}
		b.WriteString(strings.TrimSpace(strings.TrimPrefix(line, "gluster>")))
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		if start, ok := t.(xml.StartElement); ok {
			return element(d, start, 0)
		}
	}
}

// maxDepth is the number of elements that may be inside one another.
const maxDepth = 50

func element(d *xml.Decoder, start xml.StartElement, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, io.ErrUnexpectedEOF
	}
	n := &node{tag: start.Name.Local, attributes: start.Attr}
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			child, err := element(d, t, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
		case xml.CharData:
			if text, _ := n.text.(string); len(n.children) == 0 {
				n.text = text + string(t)
			}
		case xml.EndElement:
			return n, nil
		}
	}
}

// child returns the first child of a name, an empty element if there is none.
func (n *node) child(tag string) *node {
	for _, c := range n.children {
		if c.tag == tag {
			return c
		}
	}
	return &node{}
}

// str returns the text, "" if there is none.
func (n *node) str() string {
	text, _ := n.text.(string)
	return text
}

// all returns the elements of a name below n, and n itself.
func (n *node) all(tag string) []*node {
	var found []*node
	if n.tag == tag {
		found = append(found, n)
	}
	for _, c := range n.children {
		found = append(found, c.all(tag)...)
	}
	return found
}

// value returns the element as Salt returns it: a dictionary of its children, or its text.
func (n *node) value() any {
	if len(n.children) == 0 {
		return n.text
	}
	return n.values()
}

func (n *node) values() *data.Map {
	m := &data.Map{}
	for _, c := range n.children {
		m.Set(c.tag, c.value())
	}
	return m
}
