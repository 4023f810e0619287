package jmespath

import (
	"github.com/brineproject/brine/data"
)

// Search returns the result of an expression on a value, or nil if there is none.
func Search(expr string, v any) (any, error) {
	n, err := parse(expr)
	if err != nil {
		return nil, err
	}
	out, err := n.eval(v)
	if err == nil {
		left := maxParts
		err = count(out, &left)
	}
	return out, err
}

// maxParts limits the elements of a result and of a flattened list.
const maxParts = 1_000_000

func tooMany() error { return invalid("jmespath: more than %d elements", maxParts) }

// count subtracts the number of parts of a value from left.
func count(v any, left *int) error {
	if *left--; *left < 0 {
		return tooMany()
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := count(item, left); err != nil {
				return err
			}
		}
	case *data.Map:
		for _, item := range v.All() {
			if err := count(item, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// A node is a part of an expression.
type node interface {
	eval(v any) (any, error)
}

type (
	current   struct{}
	field     string
	literal   struct{ value any }
	reference struct{ of node }
	not       struct{ of node }
	pipe      struct{ left, right node }
	either    struct{ left, right node }
	both      struct{ left, right node }
	compare   struct {
		op          string
		left, right node
	}
	index struct {
		left node
		n    int
	}
	slice struct {
		left  node
		parts [3]*int
	}
	values struct{ left node } // of a dict
	flat   struct{ left node } // flattens the lists in a list
	// A project applies right to each element of left.
	project struct {
		left, right node
		filter      node // selects elements; nil selects all
	}
	multiList []node
	multiHash []pair
	pair      struct {
		name string
		of   node
	}
)

func (current) eval(v any) (any, error)   { return v, nil }
func (n literal) eval(any) (any, error)   { return n.value, nil }
func (n reference) eval(any) (any, error) { return n, nil }

func (n field) eval(v any) (any, error) {
	m, _ := v.(*data.Map)
	return m.Value(string(n)), nil
}

func (n not) eval(v any) (any, error) {
	x, err := n.of.eval(v)
	return !truth(x), err
}

func (n pipe) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	if err != nil {
		return nil, err
	}
	return n.right.eval(left)
}

func (n either) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	if err != nil || truth(left) {
		return left, err
	}
	return n.right.eval(v)
}

func (n both) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	if err != nil || !truth(left) {
		return left, err
	}
	return n.right.eval(v)
}

// truth is JMESPath's truth: null, false and empty values are false; 0 is true.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case *data.Map:
		return v.Len() > 0
	}
	return true
}

func (n compare) eval(v any) (any, error) {
	a, err := n.left.eval(v)
	if err != nil {
		return nil, err
	}
	b, err := n.right.eval(v)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	}
	order, ok := numbers(a, b)
	if !ok {
		return nil, nil
	}
	switch n.op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// equal is data.Equal, except that truth values are not numbers here.
func equal(a, b any) bool {
	_, boolA := a.(bool)
	_, boolB := b.(bool)
	return boolA == boolB && data.Equal(a, b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func numbers(a, b any) (int, bool) {
	x, okA := number(a)
	y, okB := number(b)
	switch {
	case !okA || !okB:
		return 0, false
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

func (n index) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	list, _ := left.([]any)
	i := n.n
	if i < 0 {
		i += len(list)
	}
	if err != nil || i < 0 || i >= len(list) {
		return nil, err
	}
	return list[i], nil
}

func (n slice) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	step := 1
	if n.parts[2] != nil {
		step = *n.parts[2]
	}
	if step == 0 {
		return nil, invalid("slice step cannot be 0")
	}
	low, high := 0, len(list)
	if step < 0 {
		low, high = -1, len(list)-1
	}
	bound := func(p *int, otherwise int) int {
		if p == nil {
			return otherwise
		}
		i := *p
		if i < 0 {
			i += len(list)
		}
		return min(max(i, low), high)
	}
	out := []any{}
	if step > 0 {
		for i, end := bound(n.parts[0], low), bound(n.parts[1], high); i < end; i += step {
			out = append(out, list[i])
		}
		return out, nil
	}
	for i, end := bound(n.parts[0], high), bound(n.parts[1], low); i > end; i += step {
		out = append(out, list[i])
	}
	return out, nil
}

func (n values) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	m, ok := left.(*data.Map)
	if err != nil || !ok {
		return nil, err
	}
	out := make([]any, 0, m.Len())
	for _, item := range m.All() {
		out = append(out, item)
	}
	return out, nil
}

func (n flat) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	out := []any{}
	for _, item := range list {
		if inner, ok := item.([]any); ok {
			out = append(out, inner...)
		} else {
			out = append(out, item)
		}
		if len(out) > maxParts {
			return nil, tooMany()
		}
	}
	return out, nil
}

func (n project) eval(v any) (any, error) {
	left, err := n.left.eval(v)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	out := []any{}
	for _, item := range list {
		if n.filter != nil {
			keep, err := n.filter.eval(item)
			if err != nil {
				return nil, err
			}
			if !truth(keep) {
				continue
			}
		}
		r, err := n.right.eval(item)
		if err != nil {
			return nil, err
		}
		if r != nil {
			out = append(out, r)
		}
	}
	return out, nil
}

func (n multiList) eval(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	out := make([]any, len(n))
	for i, item := range n {
		var err error
		if out[i], err = item.eval(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (n multiHash) eval(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	out := data.NewMap()
	for _, p := range n {
		item, err := p.of.eval(v)
		if err != nil {
			return nil, err
		}
		out.Set(p.name, item)
	}
	return out, nil
}
