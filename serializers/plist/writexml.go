package plist

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const header = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
`

type xmlWriter struct {
	bytes.Buffer
	o      Options
	indent int
}

func writeXML(v any, o Options) ([]byte, error) {
	w := &xmlWriter{o: o}
	w.WriteString(header)
	w.line(`<plist version="1.0">`)
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	w.line("</plist>")
	return w.Bytes(), nil
}

func (w *xmlWriter) line(text string) {
	for range w.indent {
		w.WriteByte('\t')
	}
	w.WriteString(text)
	w.WriteByte('\n')
}

// simple writes an element that contains text.
func (w *xmlWriter) simple(name, text string) error {
	text, err := escape(text)
	if err != nil {
		return err
	}
	w.line("<" + name + ">" + text + "</" + name + ">")
	return nil
}

func escape(text string) (string, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }) {
		return "", errors.New("strings can't contain control characters; use bytes instead")
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "&", "&amp;", "<", "&lt;", ">",
		"&gt;").Replace(text), nil
}

func (w *xmlWriter) value(v any, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch v := v.(type) {
	case string:
		return w.simple("string", v)
	case bool:
		w.line(map[bool]string{true: "<true/>", false: "<false/>"}[v])
		return nil
	case int64, int, *big.Int:
		n, err := whole(v)
		if err != nil {
			return err
		}
		return w.simple("integer", n.String())
	case float64:
		return w.simple("real", data.Repr(v))
	case []byte:
		w.data(v)
		return nil
	case time.Time:
		return w.simple("date", fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02dZ",
			v.Year(), v.Month(), v.Day(), v.Hour(), v.Minute(), v.Second()))
	case *data.Map:
		return w.dict(v, depth)
	case []any:
		return w.array(v, depth)
	case data.Tuple:
		return w.array(v, depth)
	}
	return fmt.Errorf("unsupported type: <class '%s'>", loader.TypeName(v))
}

// data writes bytes in lines of 76 columns including the indent, where a tab is 8 wide.
func (w *xmlWriter) data(b []byte) {
	w.line("<data>")
	size := max(16, 76-8*w.indent) / 4 * 3
	for len(b) > 0 {
		n := min(size, len(b))
		w.line(base64.StdEncoding.EncodeToString(b[:n]))
		b = b[n:]
	}
	w.line("</data>")
}

func (w *xmlWriter) dict(m *data.Map, depth int) error {
	all, err := entries(m, w.o)
	if err != nil {
		return err
	}
	if m.Len() == 0 {
		w.line("<dict/>")
		return nil
	}
	w.line("<dict>")
	w.indent++
	for _, e := range all {
		if e.wrong {
			return errKeys
		}
		if err := w.simple("key", e.key); err != nil {
			return err
		}
		if err := w.value(e.value, depth+1); err != nil {
			return err
		}
	}
	w.indent--
	w.line("</dict>")
	return nil
}

func (w *xmlWriter) array(list []any, depth int) error {
	if len(list) == 0 {
		w.line("<array/>")
		return nil
	}
	w.line("<array>")
	w.indent++
	for _, e := range list {
		if err := w.value(e, depth+1); err != nil {
			return err
		}
	}
	w.indent--
	w.line("</array>")
	return nil
}
