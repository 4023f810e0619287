package sqltree

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// A Query is one query of an entry.
type Query struct {
	Root       any // the key of the result; nil means none
	Text       string
	Depth      int
	AsList     bool // values of one key become a list
	AsJSON     bool // the only column is a dictionary in JSON
	WithLists  []int
	IgnoreNull bool // NULL does not replace an existing value
}

// Queries parses the argument of an entry in ext_pillar. Positional queries come first, then named
// ones, sorted (SqlBaseExtPillar.extract_queries). Entries without a query are left out.
func Queries(argument any) ([]Query, error) {
	args, kwargs := pillar.Spread(argument)
	var all []Query
	for i, v := range args {
		q, err := read(nil, v)
		if err != nil {
			return nil, fmt.Errorf("query %d: %w", i+1, err)
		}
		all = append(all, q)
	}
	names := kwargs.Keys()
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
	for _, name := range names {
		q, err := read(name, kwargs.Value(name))
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", data.Str(name), err)
		}
		all = append(all, q)
	}
	return slices.DeleteFunc(all, func(q Query) bool { return q.Text == "" }), nil
}

func read(root, v any) (q Query, err error) {
	if !data.Truth(root) {
		root = nil
	}
	switch v := v.(type) {
	case string:
		return Query{Root: root, Text: v}, nil
	case []any:
		q.Root = root
		if len(v) > 0 {
			q.Text, err = text(v[0])
		}
		if err == nil && len(v) > 1 {
			q.Depth, err = depth(v[1])
		}
		return q, err
	case *data.Map:
		return readMap(root, v)
	}
	return q, nil
}

func readMap(root any, m *data.Map) (Query, error) {
	q := Query{Root: root, AsList: data.Truth(m.Value("as_list")),
		AsJSON:     data.Truth(m.Value("as_json")),
		IgnoreNull: data.Truth(m.Value("ignore_null"))}
	var errs [3]error
	q.Text, errs[0] = text(m.Value("query"))
	q.Depth, errs[1] = depth(m.Value("depth"))
	q.WithLists, errs[2] = columns(m.Value("with_lists"))
	return q, errors.Join(errs[:]...)
}

func text(v any) (string, error) {
	s, ok := v.(string)
	if !ok && v != nil {
		return "", fmt.Errorf("expected a query in SQL, not %s", data.Repr(v))
	}
	return s, nil
}

func depth(v any) (int, error) {
	n, ok := v.(int64)
	if !ok && v != nil || n < 0 || n > 1<<20 {
		return 0, fmt.Errorf("depth: expected a number of columns, not %s", data.Repr(v))
	}
	return int(n), nil
}

// columns parses with_lists: a list of numbers, or a comma-separated text.
func columns(v any) ([]int, error) {
	if s, ok := v.(string); ok {
		list := []any{}
		for part := range strings.SplitSeq(s, ",") {
			if s != "" {
				list = append(list, strings.TrimSpace(part))
			}
		}
		v = list
	}
	list, ok := v.([]any)
	if !ok && data.Truth(v) {
		return nil, fmt.Errorf("with_lists: expected numbers of columns, not %s", data.Repr(v))
	}
	var out []int
	for _, e := range list {
		n, err := strconv.Atoi(data.Str(e))
		if err != nil {
			return nil, fmt.Errorf("with_lists: expected the number of a column, not %s",
				data.Repr(e))
		}
		out = append(out, n)
	}
	return out, nil
}

// Placed converts a query from Python's form to that of Go drivers: its only %s is replaced by
// mark, and %% by a percent sign.
func Placed(query, mark string) (string, error) {
	var out strings.Builder
	marks := 0
	for i := 0; i < len(query); i++ {
		if query[i] != '%' {
			out.WriteByte(query[i])
			continue
		}
		i++
		switch {
		case i < len(query) && query[i] == '%':
			out.WriteByte('%')
		case i < len(query) && query[i] == 's':
			marks++
			out.WriteString(mark)
		default:
			return "", errors.New("a sign % that is neither %s nor %% stands in the query")
		}
	}
	if marks != 1 {
		return "", fmt.Errorf("the query has %d places %%s for the minion's id, and needs one",
			marks)
	}
	return out.String(), nil
}
