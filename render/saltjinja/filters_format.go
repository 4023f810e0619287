package saltjinja

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/yaml"
)

// formatFilters returns the filters that write and read data (salt/utils/jinja.py,
// salt/utils/yamlencoding.py).
func formatFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"yaml": filterYAML, "json": filterJSON, "tojson": filterToJSON,
		"xml": one("format_xml", filterXML), "python": filterPython,
		"load_yaml": one("load_yaml",
			func(_ *jinja.Call, v any) (any, error) { return loadYAML(v) }),
		"load_json": one("load_json",
			func(_ *jinja.Call, v any) (any, error) { return loadJSON(v) }),
		"load_text": one("load_text",
			func(_ *jinja.Call, v any) (any, error) { return loadText(v) }),
		"dict_to_sls_yaml_params": filterParams,
		"yaml_dquote": one("yaml_dquote",
			func(c *jinja.Call, v any) (any, error) { return quoted(c, v, doubleQuoted) }),
		"yaml_squote": one("yaml_squote",
			func(c *jinja.Call, v any) (any, error) { return quoted(c, v, singleQuoted) }),
		"yaml_encode": one("yaml_encode", filterEncode),
	}
}

func filterYAML(c *jinja.Call) (any, error) {
	p := bind(c, "format_yaml", "value", "flow_style=")
	return dumpYAML(p, p.args[0], p.or(1, true))
}

// filterParams writes a dict as the parameters of a state: a list of dicts of one key.
func filterParams(c *jinja.Call) (any, error) {
	p := bind(c, "dict_to_sls_yaml_params", "value", "flow_style=")
	if p.err != nil {
		return nil, p.err
	}
	m, ok := p.args[0].(*data.Map)
	if !ok {
		return nil, typeErrorKind(jinja.AttributeError, p.args[0], "'"+jinja.TypeName(p.args[0])+
			"' object has no attribute 'items'")
	}
	list := jinja.NewList()
	for k, v := range m.All() {
		list.Items = append(list.Items, data.NewMap(k, v))
	}
	return dumpYAML(p, list, p.or(1, false))
}

func typeErrorKind(kind jinja.Kind, v any, message string) error {
	if err := defined(v); err != nil {
		return err
	}
	return jinja.Raise(kind, "%s", message)
}

// dumpYAML writes a value as salt.utils.yaml.safe_dump does: dicts sorted, Ordered ones in their
// order.
func dumpYAML(p *params, v, style any) (any, error) {
	flow := yaml.Leaves
	if style != nil {
		on, err := p.c.Truth(style)
		p.note(err)
		if flow = yaml.Block; on {
			flow = yaml.Always
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	v, err := jinja.ExportOr(v, data.Const{}) // Salt's dumper writes it as NULL
	if err != nil {
		return nil, err
	}
	out, err := yaml.Dump(v, yaml.DumpOptions{Flow: flow, SortKeys: true})
	if err != nil {
		return nil, err
	}
	if err := p.c.Room(len(out)); err != nil {
		return nil, err
	}
	return jinja.Markup(strings.TrimSuffix(strings.TrimSpace(string(out)), "\n...")), nil
}

func isContainer(v any) bool {
	switch v.(type) {
	case *data.Map, *jinja.List:
		return true
	}
	return false
}

// sorted is Python's sorted with a key.
func sorted(c *jinja.Call, items []any, key func(any) any) ([]any, error) {
	out := slices.Clone(items)
	var failed error
	slices.SortStableFunc(out, func(a, b any) int {
		if failed != nil {
			return 0
		}
		less, err := c.Less(key(a), key(b))
		if err == nil && !less {
			if less, err = c.Less(key(b), key(a)); less {
				return 1
			}
			failed = err
			return 0
		}
		failed = err
		return -1
	})
	return out, failed
}

func filterPython(c *jinja.Call) (any, error) {
	p := bind(c, "format_python", "value")
	if p.err != nil {
		return nil, p.err
	}
	v, err := c.Filter("pprint", p.args[0])
	if err != nil {
		return nil, err
	}
	text, err := c.Str(v)
	return jinja.Markup(strings.TrimSpace(text)), err
}

func quoted(c *jinja.Call, v any, quote func(string) string) (any, error) {
	text, err := c.Str(v)
	if err != nil {
		return nil, err
	}
	return quote(text), nil
}

// doubleQuoted is write_double_quoted of PyYAML's emitter, which writes only ASCII and folds
// nothing here.
func doubleQuoted(s string) string {
	short := map[rune]byte{0: '0', 7: 'a', 8: 'b', 9: 't', 10: 'n', 11: 'v', 12: 'f', 13: 'r',
		27: 'e', '"': '"', '\\': '\\', 0x85: 'N', 0xa0: '_', 0x2028: 'L', 0x2029: 'P'}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		c, ok := short[r]
		switch {
		case ok:
			b.WriteByte('\\')
			b.WriteByte(c)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// singleQuoted is write_single_quoted: a line break becomes two.
func singleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	inBreaks := false
	for _, r := range s {
		isBreak := r == '\n' || r == 0x85 || r == 0x2028 || r == 0x2029
		if isBreak && !inBreaks && r == '\n' {
			b.WriteByte('\n')
		}
		inBreaks = isBreak
		if r == '\'' {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

// filterEncode writes a scalar: text in double quotes, other values as in YAML.
func filterEncode(c *jinja.Call, v any) (any, error) {
	switch v := v.(type) {
	case string:
		return doubleQuoted(v), nil
	case jinja.Markup:
		return doubleQuoted(string(v)), nil
	case nil, bool, int64, *big.Int, float64:
		out, err := yaml.Dump(v, yaml.DumpOptions{})
		return strings.TrimSuffix(strings.TrimSpace(string(out)), "\n..."), err
	}
	return nil, jinja.Raise(jinja.TypeError,
		"yaml_encode() only works with YAML scalar data; failed for <class '%s'>",
		jinja.TypeName(v))
}
