// Package xmlrpc calls methods of a server by XML-RPC, in the form of Python's xmlrpc.client.
package xmlrpc

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
)

// Limits of a response.
const (
	maxDepth  = 64
	maxValues = 1_000_000
)

// A Fault is the error that a server reports.
type Fault struct {
	Code int64
	Text string
}

// Error returns the beginning of the server's text.
func (f *Fault) Error() string { return fmt.Sprintf("fault %d of the server: %.500s", f.Code, f.Text) }

// Call calls a method at an address and returns its result.
func Call(ctx context.Context, c *rest.Client, address, method string, args ...any) (any, error) {
	body, err := Encode(method, args...)
	if err != nil {
		return nil, err
	}
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: address, Body: body,
		Header: map[string]string{"Content-Type": "text/xml"}})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return nil, err
	}
	return Decode(a.Body)
}

// Encode returns the request for a call.
func Encode(method string, args ...any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("<?xml version='1.0'?>\n<methodCall>\n<methodName>")
	escape(&b, method)
	b.WriteString("</methodName>\n<params>\n")
	for _, v := range args {
		b.WriteString("<param>\n")
		if err := encode(&b, v); err != nil {
			return nil, err
		}
		b.WriteString("</param>\n")
	}
	b.WriteString("</params>\n</methodCall>\n")
	return b.Bytes(), nil
}

func escape(b *bytes.Buffer, s string) {
	b.WriteString(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s))
}

func encode(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("<value><nil/></value>")
		return nil
	case string:
		b.WriteString("<value><string>")
		escape(b, v)
		b.WriteString("</string></value>\n")
	case int64:
		fmt.Fprintf(b, "<value><int>%d</int></value>\n", v)
	case bool:
		text := map[bool]string{true: "1", false: "0"}[v]
		b.WriteString("<value><boolean>" + text + "</boolean></value>\n")
	case float64:
		b.WriteString("<value><double>" + data.Repr(v) + "</double></value>\n")
	case []any:
		b.WriteString("<value><array><data>\n")
		for _, e := range v {
			if err := encode(b, e); err != nil {
				return err
			}
		}
		b.WriteString("</data></array></value>\n")
	case *data.Map:
		b.WriteString("<value><struct>\n")
		for name, e := range v.All() {
			b.WriteString("<member>\n<name>")
			escape(b, data.Str(name))
			b.WriteString("</name>\n")
			if err := encode(b, e); err != nil {
				return err
			}
			b.WriteString("</member>\n")
		}
		b.WriteString("</struct></value>\n")
	default:
		return fmt.Errorf("XML-RPC has no value like %T", v)
	}
	return nil
}

// Decode returns the result in a response; a fault is a *Fault. Dates are texts in their form of
// XML-RPC, and binary values are bytes.
func Decode(response []byte) (any, error) {
	d := &decoder{xml: xml.NewDecoder(bytes.NewReader(response)), room: maxValues}
	// Python's default; a server that declares another encoding is not understood
	v, fault, err := d.response()
	if err != nil {
		return nil, fmt.Errorf("read the response of XML-RPC: %w", err)
	}
	if !fault {
		return v, nil
	}
	m, _ := v.(*data.Map)
	code, _ := m.Value("faultCode").(int64)
	return nil, &Fault{Code: code, Text: data.Str(m.Value("faultString"))}
}

var errForm = errors.New("it does not have the form of a response")

type decoder struct {
	xml  *xml.Decoder
	room int // how many values may follow
}

// next returns the next start or end of an element, and the text before it.
func (d *decoder) next() (start *xml.StartElement, text string, err error) {
	var b strings.Builder
	for {
		token, err := d.xml.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, "", errors.Join(errForm, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			return &token, b.String(), nil
		case xml.EndElement:
			return nil, b.String(), nil
		case xml.CharData:
			b.Write(token)
		}
	}
}

// enter reads the start of an element with one of the names.
func (d *decoder) enter(names ...string) (string, error) {
	start, _, err := d.next()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if start != nil && start.Name.Local == name {
			return name, nil
		}
	}
	return "", errForm
}

// leave reads the end of an element.
func (d *decoder) leave() error {
	start, _, err := d.next()
	if err == nil && start != nil {
		err = errForm
	}
	return err
}

func (d *decoder) response() (v any, fault bool, err error) {
	if _, err = d.enter("methodResponse"); err != nil {
		return nil, false, err
	}
	kind, err := d.enter("params", "fault")
	if err == nil && kind == "params" {
		_, err = d.enter("param")
	}
	if err == nil {
		_, err = d.enter("value")
	}
	if err != nil {
		return nil, false, err
	}
	v, err = d.value(0)
	return v, kind == "fault", err
}

// value reads a value whose element has begun, to its end.
func (d *decoder) value(depth int) (any, error) {
	if d.room--; d.room < 0 || depth > maxDepth {
		return nil, errors.New("it has too many values")
	}
	start, text, err := d.next()
	if err != nil || start == nil {
		return text, err // a text has no element of its own
	}
	var v any
	switch start.Name.Local {
	case "array":
		v, err = d.array(depth)
	case "struct":
		v, err = d.members(depth)
	default:
		inner, words, failed := d.next()
		if failed == nil && inner != nil {
			failed = errForm
		}
		if failed != nil {
			return nil, failed
		}
		v, err = scalar(start.Name.Local, words)
	}
	if err != nil {
		return nil, err
	}
	return v, d.leave()
}

func (d *decoder) array(depth int) (any, error) {
	if _, err := d.enter("data"); err != nil {
		return nil, err
	}
	list := []any{}
	for {
		start, _, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case start == nil:
			return list, d.leave()
		case start.Name.Local != "value":
			return nil, errForm
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (d *decoder) members(depth int) (any, error) {
	m := data.NewMap()
	for {
		start, _, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case start == nil:
			return m, nil
		case start.Name.Local != "member":
			return nil, errForm
		}
		if _, err = d.enter("name"); err != nil {
			return nil, err
		}
		inner, name, err := d.next()
		if err == nil && inner != nil {
			err = errForm
		}
		if err == nil {
			_, err = d.enter("value")
		}
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err == nil {
			err = d.leave()
		}
		if err != nil {
			return nil, err
		}
		m.Set(name, v)
	}
}

// scalar returns a value that is one text.
func scalar(kind, text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch kind {
	case "string", "dateTime.iso8601":
		return text, nil
	case "nil":
		return nil, nil
	case "boolean":
		if trimmed == "0" || trimmed == "1" {
			return trimmed == "1", nil
		}
	case "int", "i1", "i2", "i4", "i8", "biginteger":
		if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return n, nil
		}
		if n, ok := new(big.Int).SetString(trimmed, 10); ok && len(trimmed) < 1000 {
			return n, nil
		}
	case "double", "float":
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return f, nil
		}
	case "base64":
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("a value of the kind %.40q is invalid", kind)
}
