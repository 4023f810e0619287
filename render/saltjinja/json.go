package saltjinja

import (
	"math/big"
	"strings"

	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/jinja"
)

func filterJSON(c *jinja.Call) (any, error) {
	p := bind(c, "format_json", "value", "sort_keys=", "indent=")
	o := jsonOptions(c)
	sort := true
	if v := p.or(1, true); p.err == nil {
		sort, p.err = c.Truth(v)
	}
	text, err := writeJSON(p, o, sort, p.or(2, nil))
	return jinja.Markup(strings.TrimSpace(text)), err
}

// filterToJSON is Salt's tojson, which passes options on to json.dumps.
func filterToJSON(c *jinja.Call) (any, error) {
	p := bind(c, "tojson", "val", "indent=", "sort_keys=", "ensure_ascii=", "separators=")
	o := jsonOptions(c)
	sort := p.truth(2)
	if v := p.or(3, true); p.err == nil {
		o.ASCII, p.err = c.Truth(v)
	}
	if v := p.or(4, nil); v != nil {
		pair := p.items(4)
		if len(pair) != 2 {
			return nil, jinja.Raise(jinja.ValueError, "separators must be two texts")
		}
		comma, _ := textOf(pair[0])
		colon, _ := textOf(pair[1])
		if comma+colon != "" {
			o.Comma, o.Colon = comma, colon
		}
	}
	text, err := writeJSON(p, o, sort, p.or(1, nil))
	text = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'",
		`\u0027`).Replace(text)
	return text, err
}

func jsonOptions(c *jinja.Call) pyjson.Options {
	return pyjson.Options{Comma: ", ", Colon: ": ", Depth: 500, Other: inJSON,
		Room: func(bytes int) error {
			if bytes > 64<<20 {
				return jinja.Raise(jinja.LimitError, "JSON of more than %d bytes", 64<<20)
			}
			return nil
		}}
}

// writeJSON writes the first argument.
func writeJSON(p *params, o pyjson.Options, sort bool, indent any) (string, error) {
	if p.err != nil {
		return "", p.err
	}
	switch n := indent.(type) {
	case nil:
	case int64:
		o.Lines, o.Step = true, strings.Repeat(" ", int(max(0, min(n, 1000))))
	default:
		text, ok := textOf(n)
		if !ok {
			return "", jinja.Raise(jinja.TypeError, "indent must be a number or text, not %s",
				jinja.TypeName(n))
		}
		o.Lines, o.Step = true, text
	}
	if o.Lines && o.Comma == ", " {
		o.Comma = ","
	}
	if sort {
		o.Sort = func(keys []any) ([]any, error) { return sorted(p.c, keys, func(v any) any { return v }) }
	}
	text, err := pyjson.Append(nil, p.args[0], o)
	if err == nil {
		err = p.c.Room(len(text))
	}
	return string(text), jinja.JSONError(err)
}

// inJSON converts a template's value to one that JSON supports.
func inJSON(v any) (any, error) {
	switch v := v.(type) {
	case jinja.Markup:
		return string(v), nil
	case *big.Int:
		return v, nil
	case *jinja.List:
		return v.Items, nil
	}
	return nil, &pyjson.Error{Reason: pyjson.BadType, Value: v}
}
