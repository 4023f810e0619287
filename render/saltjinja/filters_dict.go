package saltjinja

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
)

// dictFilters returns the filters for dicts (salt/utils/data.py, salt/utils/dictupdate.py).
func dictFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"compare_dicts": compareDicts, "traverse": traverse, "mysql_to_dict": mysqlToDict,
		"json_query": jsonQuery, "set_dict_key_value": changeKey("set_dict_key_value", setKey),
		"update_dict_key_value": changeKey("update_dict_key_value", updateKey),
		"append_dict_key_value": changeKey("append_dict_key_value", appendKey),
		"extend_dict_key_value": changeKey("extend_dict_key_value", extendKey),
		"json_encode_dict":      one("encode_dict", encodeDict),
		"json_decode_dict":      one("encode_dict", encodeDict),
		"json_encode_list":      one("encode_list", encode),
		"json_decode_list":      one("encode_list", encode), "to_entries": one("to_entries",
			toEntries), "from_entries": one("from_entries", fromEntries),
	}
}

func (p *params) dict(i int) *data.Map {
	m, ok := p.args[i].(*data.Map)
	if !ok && p.err == nil && p.args[i] != nil {
		p.err = typeErrorKind(jinja.AttributeError, p.args[i], "'"+jinja.TypeName(p.args[i])+
			"' object has no attribute 'items'")
	}
	return m
}

func compareDicts(c *jinja.Call) (any, error) {
	p := bind(c, "compare_dicts", "old", "new")
	before, after := p.dict(0), p.dict(1)
	out := data.NewMap()
	for k, v := range after.All() {
		was, ok := before.Get(k)
		same := false
		if ok {
			eq, err := c.Equal(was, v)
			p.note(err)
			same = eq
		} else {
			was = ""
		}
		if !same {
			out.Set(k, data.NewMap("old", was, "new", v))
		}
	}
	for k, v := range before.All() {
		if !after.Has(k) {
			out.Set(k, data.NewMap("new", "", "old", v))
		}
	}
	return out, p.err
}

// traverse follows a path through dicts and lists (salt/utils/data.py, traverse_dict_and_list).
func traverse(c *jinja.Call) (any, error) {
	p := bind(c, "traverse_dict_and_list", "data", "key", "default=", "delimiter=")
	delimiter := ":"
	if v := p.or(3, nil); v != nil {
		delimiter, _ = textOf(v)
	}
	otherwise := p.or(2, nil)
	var keys []any
	switch k := p.args[1].(type) {
	case int64:
		keys = []any{k}
	case string:
		for part := range strings.SplitSeq(k, delimiter) {
			keys = append(keys, part)
		}
	default:
		keys = p.items(1)
	}
	if p.err != nil {
		return nil, p.err
	}
	at := p.args[0]
	for _, k := range keys {
		if err := defined(at); err != nil {
			return nil, err
		}
		next, ok := below(at, k)
		if !ok {
			return otherwise, nil
		}
		at = next
	}
	return at, defined(at)
}

// below takes one step of a path.
func below(v, key any) (any, bool) {
	switch v := v.(type) {
	case *data.Map:
		if !data.Hashable(key) {
			return nil, false
		}
		if item, ok := v.Get(key); ok {
			return item, true
		}
		if k := loader.YAMLArg(key); data.Hashable(k) {
			return v.Get(k)
		}
	case *jinja.List:
		return belowList(v.Items, key)
	}
	return nil, false
}

func belowList(items []any, key any) (any, bool) {
	n, err := loader.Int(key)
	if err == nil {
		key = n
	}
	for _, item := range items {
		if m, ok := item.(*data.Map); ok && data.Hashable(key) {
			if v, ok := m.Get(key); ok {
				return v, true
			}
		}
	}
	if err != nil {
		return nil, false
	}
	if n < 0 {
		n += int64(len(items))
	}
	if n < 0 || n >= int64(len(items)) {
		return nil, false
	}
	return items[n], true
}

// changeKey makes a filter that changes the value at the end of a path in a dict. It creates
// missing dicts on the way.
func changeKey(
	name string, change func(p *params, m *data.Map, key string, v any) error,
) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, name, "in_dict", "keys", "value", "delimiter=", "ordered_dict=")
		m, keys, delimiter := p.dict(0), p.text(1), ":"
		if v := p.or(3, nil); v != nil {
			delimiter, _ = textOf(v)
		}
		if p.err == nil && m == nil {
			p.err = jinja.Raise(jinja.TypeError, "argument of type 'NoneType' is not iterable")
		}
		if p.err != nil {
			return nil, p.err
		}
		at := m
		parts := strings.Split(keys, delimiter)
		for _, k := range parts[:len(parts)-1] {
			next, ok := at.Value(k).(*data.Map)
			if !ok {
				next = data.NewMap()
				at.Set(k, next)
			}
			at = next
		}
		return m, change(p, at, parts[len(parts)-1], p.args[2])
	}
}

func setKey(_ *params, m *data.Map, key string, v any) error {
	m.Set(key, v)
	return nil
}

func updateKey(p *params, m *data.Map, key string, v any) error {
	if m.Value(key) == nil {
		m.Set(key, data.NewMap())
	}
	to, ok := m.Value(key).(*data.Map)
	if !ok {
		return invocation("The last key contains a <class '%s'>, which cannot update.",
			jinja.TypeName(m.Value(key)))
	}
	from, ok := v.(*data.Map)
	if !ok {
		return invocation("Cannot update <class 'dict'> with a <class '%s'>.", jinja.TypeName(v))
	}
	to.Update(from)
	return nil
}

func appendKey(p *params, m *data.Map, key string, v any) error {
	list, err := listAt(m, key, "append")
	if err == nil {
		list.Items = append(list.Items, v)
	}
	return err
}

func extendKey(p *params, m *data.Map, key string, v any) error {
	list, err := listAt(m, key, "extend")
	if err != nil {
		return err
	}
	items, err := p.c.Items(v)
	if err != nil {
		return invocation("Cannot extend <class 'list'> with a <class '%s'>.", jinja.TypeName(v))
	}
	list.Items = append(list.Items, items...)
	return nil
}

func listAt(m *data.Map, key, verb string) (*jinja.List, error) {
	if m.Value(key) == nil {
		m.Set(key, jinja.NewList())
	}
	list, ok := m.Value(key).(*jinja.List)
	if !ok {
		return nil, invocation("The last key contains a <class '%s'>, which cannot %s.",
			jinja.TypeName(m.Value(key)), verb)
	}
	return list, nil
}

// invocation returns a SaltInvocationError.
func invocation(format string, args ...any) error {
	return &functionError{loader.Invocation(format, args...)}
}

func encodeDict(c *jinja.Call, v any) (any, error) {
	if _, ok := v.(*data.Map); !ok {
		return nil, jinja.Raise(jinja.AttributeError, "'%s' object has no attribute 'items'",
			jinja.TypeName(v))
	}
	return encode(c, v)
}

// encode converts all text to bytes (salt/utils/data.py, encode_dict and encode_list).
func encode(c *jinja.Call, v any) (any, error) { return encodeAt(c, v, 0) }

func encodeAt(c *jinja.Call, v any, depth int) (any, error) {
	if depth > 200 {
		return nil, jinja.Raise(jinja.PythonError, "maximum recursion depth exceeded")
	}
	switch v := v.(type) {
	case string:
		if depth > 0 {
			return []byte(v), nil
		}
	case *data.Map:
		out := data.NewMap()
		for k, item := range v.All() {
			if s, ok := k.(string); ok {
				k = []byte(s)
			}
			e, err := encodeAt(c, item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Set(k, e)
		}
		return out, nil
	}
	if depth > 0 && !isSequence(v) {
		return v, nil
	}
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	out := jinja.NewList()
	for _, item := range items {
		e, err := encodeAt(c, item, depth+1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, e)
	}
	return out, nil
}

func isSequence(v any) bool {
	switch v.(type) {
	case *jinja.List, data.Tuple:
		return true
	}
	return false
}

// mysqlToDict parses the table that the program mysql prints.
func mysqlToDict(c *jinja.Call) (any, error) {
	p := bind(c, "mysql_to_dict", "data", "key")
	lines, key := p.items(0), p.text(1)
	out := data.NewMap()
	var headers []string
	for _, l := range lines {
		line, _ := textOf(l)
		if line == "" || strings.HasPrefix(line, "+") {
			continue
		}
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if headers == nil {
			headers = cells
			continue
		}
		row := data.NewMap()
		for i := 1; i < len(headers)-1 && i < len(cells); i++ {
			row.Set(headers[i], toNumber(cells[i]))
		}
		id, ok := row.Get(key)
		if !ok && p.err == nil {
			p.err = jinja.Raise(jinja.KeyError, "%s", data.Repr(key))
		}
		if p.err == nil {
			out.Set(id, row)
		}
	}
	return out, p.err
}

// toNumber parses a number as Python's int and float do, or returns the text.
func toNumber(text string) any {
	s := strings.TrimSpace(text)
	clean := strings.ReplaceAll(s, "_", "")
	if clean != s && (strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") ||
		strings.Contains(s, "__")) {
		return text
	}
	if n, ok := new(big.Int).SetString(strings.TrimPrefix(clean, "+"), 10); ok &&
		!strings.HasPrefix(clean, "+-") {
		if n.IsInt64() {
			return n.Int64()
		}
		return n
	}
	if strings.ContainsAny(clean, "xXpP") {
		return text
	}
	if f, err := strconv.ParseFloat(clean, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return f
	}
	return text
}

// toEntries converts a dict to a list of key and value (3007).
func toEntries(_ *jinja.Call, v any) (any, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return nil, jinja.Raise(jinja.AttributeError, "'%s' object has no attribute 'items'",
			jinja.TypeName(v))
	}
	out := jinja.NewList()
	for k, item := range m.All() {
		out.Items = append(out.Items, data.NewMap("key", k, "value", item))
	}
	return out, nil
}

// fromEntries converts such a list to a dict (3007); the key may be called name, and case does not
// count.
func fromEntries(c *jinja.Call, v any) (any, error) {
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	out := data.NewMap()
	for _, item := range items {
		m, ok := item.(*data.Map)
		if !ok {
			return nil, jinja.Raise(jinja.TypeError, "'%s' object is not a mapping",
				jinja.TypeName(item))
		}
		folded := data.NewMap()
		for k, v := range m.All() {
			if s, ok := k.(string); ok {
				k = strings.ToLower(s)
			}
			folded.Set(k, v)
		}
		for _, name := range []string{"key", "name"} {
			k := folded.Value(name)
			if found, err := c.Truth(k); found && err == nil && data.Hashable(k) {
				out.Set(k, folded.Value("value"))
				break
			}
		}
	}
	return out, nil
}
