package yaml

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// An out is a node to be written.
type out struct {
	kind     kind
	tag      string // written if the plain value does not resolve to it
	value    string
	literal  bool // a block scalar, for bytes
	children []*out
	flow     bool
	anchor   string
	seen     bool // already written; further occurrences are aliases
	met      bool // reached by the search for anchors
}

// An identity tells whether two values are the same object, like Python's id.
type identity struct {
	pointer any
	len     int
}

type representer struct {
	options DumpOptions
	made    map[identity]*out
	anchors int
}

func identify(v any) (identity, bool) {
	switch v := v.(type) {
	case *data.Map:
		return identity{v, 0}, v != nil
	case []any:
		if len(v) > 0 {
			return identity{&v[0], len(v)}, true
		}
	case data.Tuple:
		if len(v) > 0 {
			return identity{&v[0], len(v)}, true
		}
	}
	return identity{}, false
}

func (r *representer) node(v any, depth int) (*out, error) {
	if depth > maxDumpDepth {
		return nil, fmt.Errorf("more than %d levels of nesting", maxDumpDepth)
	}
	id, shared := identify(v)
	if shared && !r.options.Copies {
		if n, ok := r.made[id]; ok {
			return n, nil
		}
	}
	n := &out{}
	if shared {
		r.made[id] = n
	}
	return n, r.fill(n, v, depth)
}

func (r *representer) fill(n *out, v any, depth int) error {
	switch v := v.(type) {
	case *data.Map:
		return r.mapping(n, v, depth)
	case []any:
		return r.sequence(n, v, depth)
	case data.Tuple:
		return r.sequence(n, v, depth)
	}
	return n.scalar(v)
}

func (r *representer) sequence(n *out, list []any, depth int) error {
	n.kind = sequenceKind
	for _, e := range list {
		child, err := r.node(e, depth+1)
		if err != nil {
			return err
		}
		n.children = append(n.children, child)
	}
	n.flow = r.inFlow(n)
	return nil
}

func (r *representer) mapping(n *out, m *data.Map, depth int) error {
	n.kind = mappingKind
	keys := m.Keys()
	if r.options.SortKeys && (r.options.SortOrdered || !m.Ordered()) {
		sortKeys(keys)
	}
	for _, k := range keys {
		for _, v := range []any{k, m.Value(k)} {
			child, err := r.node(v, depth+1)
			if err != nil {
				return err
			}
			n.children = append(n.children, child)
		}
	}
	n.flow = r.inFlow(n)
	return nil
}

func (r *representer) inFlow(n *out) bool {
	switch r.options.Flow {
	case Always:
		return true
	case Leaves:
		return !slices.ContainsFunc(n.children,
			func(c *out) bool { return c.kind != scalarKind || c.literal })
	}
	return false
}

// anchor names the nodes that are reached more than once, in the order of discovery.
func (r *representer) anchor(n *out) {
	if n.met {
		if n.anchor == "" {
			r.anchors++
			n.anchor = fmt.Sprintf("id%03d", r.anchors)
		}
		return
	}
	n.met = true
	for _, c := range n.children {
		r.anchor(c)
	}
}

func (n *out) scalar(v any) error {
	switch v := v.(type) {
	case nil:
		n.tag, n.value = nullTag, "null"
	case bool:
		n.tag, n.value = boolTag, map[bool]string{true: "true", false: "false"}[v]
	case int, int64:
		n.tag, n.value = intTag, fmt.Sprint(v)
	case *big.Int:
		n.tag, n.value = intTag, v.String()
	case float64:
		n.tag, n.value = floatTag, floatText(v)
	case string:
		n.tag, n.value = strTag, strings.ToValidUTF8(v, "\uFFFD")
	case []byte:
		n.tag, n.value, n.literal = binaryTag, base64Lines(v), true
	case time.Time:
		n.tag, n.value = timestampTag, timeText(v)
	case data.Const: // Salt writes NULL for values that it cannot represent
		n.tag, n.value = nullTag, "NULL"
	default:
		return fmt.Errorf("a value of type %T has no YAML form", v)
	}
	return nil
}

// floatText is Python's repr with a dot, without which YAML 1.1 would read text.
func floatText(f float64) string {
	s := data.Repr(f)
	switch s {
	case "inf", "-inf":
		return strings.Replace(s, "inf", ".inf", 1)
	case "nan":
		return ".nan"
	}
	if !strings.Contains(s, ".") {
		s = strings.Replace(s, "e", ".0e", 1)
	}
	return s
}

// base64Lines is Python's base64.encodebytes: 76 characters per line.
func base64Lines(b []byte) string {
	var s strings.Builder
	for chunk := range slices.Chunk(b, 57) {
		s.WriteString(base64.StdEncoding.EncodeToString(chunk))
		s.WriteByte('\n')
	}
	return s.String()
}

// timeText is datetime.isoformat(" "); times in UTC are Python's naive ones.
func timeText(t time.Time) string {
	layout := "2006-01-02 15:04:05"
	if t.Nanosecond()/1000 != 0 {
		layout += ".000000"
	}
	if t.Location() != time.UTC {
		layout += "-07:00"
	}
	return t.Format(layout)
}

// sortKeys sorts keys as Python's sorted does, and leaves them in place if Python cannot compare
// them.
func sortKeys(keys []any) {
	if !comparable(keys) {
		return
	}
	slices.SortStableFunc(keys, compareKeys)
}

func comparable(keys []any) bool {
	for i := 1; i < len(keys); i++ {
		if sort := sortOf(keys[i]); sort == 0 || sort != sortOf(keys[0]) {
			return false
		}
	}
	return true
}

// sortOf returns the group of values that Python can compare with each other; 0 compares with
// nothing.
func sortOf(v any) int {
	switch v.(type) {
	case bool, int, int64, float64, *big.Int:
		return 1
	case string:
		return 2
	case []byte:
		return 3
	case time.Time:
		return 4
	}
	return 0
}

func compareKeys(a, b any) int {
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case []byte:
		return cmp.Compare(string(a), string(b.([]byte)))
	case time.Time:
		return a.Compare(b.(time.Time))
	}
	return number(a).Cmp(number(b))
}

func number(v any) *big.Float {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewFloat(1)
		}
	case int:
		return new(big.Float).SetInt64(int64(v))
	case int64:
		return new(big.Float).SetInt64(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	case float64:
		if v == v { // NaN has no order
			return big.NewFloat(v)
		}
	}
	return new(big.Float)
}
