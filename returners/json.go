package returners

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// maxDepth is the limit of nesting in JSON.
const maxDepth = 128

// ParseJSON parses one JSON value like Python's json.loads, and keeps the order of keys: NaN,
// Infinity and -Infinity are also numbers.
func ParseJSON(b []byte) (any, error) {
	p := &parser{dec: json.NewDecoder(bytes.NewReader(b))}
	p.dec.UseNumber()
	v, err := p.value(0)
	if err == nil {
		if _, end := p.dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("unexpected data after the value")
		}
	}
	if err != nil && bytes.ContainsAny(b, "NI") && !p.plain {
		return parseLoose(b)
	}
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return v, nil
}

type parser struct {
	dec   *json.Decoder
	plain bool // the special numbers were replaced already
}

// Texts that replace the numbers missing in JSON during parsing.
const looseMark = "\uE000brine:"

// parseLoose parses JSON with NaN and the like, outside of texts.
func parseLoose(b []byte) (any, error) {
	var out bytes.Buffer
	inText := false
	for i := 0; i < len(b); i++ {
		switch {
		case inText && b[i] == '\\' && i+1 < len(b):
			out.WriteByte(b[i])
			i++
		case b[i] == '"':
			inText = !inText
		case !inText:
			if name := looseName(b[i:]); name != "" {
				out.WriteString(`"` + looseMark + name + `"`)
				i += len(name) - 1
				continue
			}
		}
		out.WriteByte(b[i])
	}
	p := &parser{dec: json.NewDecoder(&out), plain: true}
	p.dec.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return v, nil
}

func looseName(b []byte) string {
	for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(name)) {
			return name
		}
	}
	return ""
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '[' {
			return p.list(depth)
		}
		return p.object(depth)
	case json.Number:
		return numberOf(string(tok))
	case string:
		return p.text(tok), nil
	}
	return tok, nil
}

func (p *parser) text(s string) any {
	name, ok := strings.CutPrefix(s, looseMark)
	if !ok || !p.plain {
		return s
	}
	switch name {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	return s
}

func (p *parser) list(depth int) (any, error) {
	list := []any{}
	for p.dec.More() {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.dec.Token()
	return list, err
}

func (p *parser) object(depth int) (any, error) {
	m := &data.Map{}
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.Set(key, v)
	}
	_, err := p.dec.Token()
	return m, err
}

// numberOf returns an integer if the text is one, else a float.
func numberOf(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if !strings.ContainsAny(text, ".eE") && len(text) < 1000 {
		if n, ok := new(big.Int).SetString(text, 10); ok {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // infinite, as in Python
	}
	return f, err
}
