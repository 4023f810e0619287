package jinja

import (
	"fmt"
	"math/big"

	"github.com/brineproject/brine/data"
)

// maxRange is the maximum number of elements of a range in the sandbox.
const maxRange = 100000

// A rangeValue is a range of at most maxRange integers of 64 bits.
type rangeValue struct {
	start, step int64
	count       int
	stop        int64 // as it was given
}

func newRange(c *Call) (any, error) {
	if err := c.noKeywords("range"); err != nil {
		return nil, err
	}
	switch n := len(c.Args); {
	case n == 0:
		return nil, Raise(TypeError, "range expected at least 1 argument, got 0")
	case n > 3:
		return nil, Raise(TypeError, "range expected at most 3 arguments, got %d", n)
	}
	bounds := [3]*big.Int{big.NewInt(0), nil, big.NewInt(1)}
	for i, v := range c.Args {
		if !isInt(v) {
			return nil, Raise(TypeError, "'%s' object cannot be interpreted as an integer",
				typeName(v))
		}
		if len(c.Args) == 1 {
			i = 1
		}
		bounds[i] = bigOf(v)
	}
	return makeRange(bounds[0], bounds[1], bounds[2])
}

func makeRange(start, stop, step *big.Int) (any, error) {
	if step.Sign() == 0 {
		return nil, Raise(ValueError, "range() arg 3 must not be zero")
	}
	span := new(big.Int).Sub(stop, start)
	count := new(big.Int)
	if span.Sign() == step.Sign() {
		// the number of steps that stay within, rounded up
		count.Abs(span).Sub(count, big.NewInt(1)).Div(count, new(big.Int).Abs(step)).Add(count,
			big.NewInt(1))
	}
	if count.Cmp(big.NewInt(maxRange)) > 0 {
		return nil, Raise(OverflowError,
			"Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	if !start.IsInt64() || !stop.IsInt64() || !step.IsInt64() {
		return nil, Raise(LimitError, "a range of integers beyond 64 bits")
	}
	return &rangeValue{start.Int64(), step.Int64(), int(count.Int64()), stop.Int64()}, nil
}

func (r *rangeValue) Len() int         { return r.count }
func (r *rangeValue) TypeName() string { return "range" }

func (r *rangeValue) at(i int) any { return r.start + int64(i)*r.step }

func (r *rangeValue) Iterate() Iterator {
	i := 0
	return iteratorFunc(func() (any, bool, error) {
		if i >= r.count {
			return nil, false, nil
		}
		i++
		return r.at(i - 1), true, nil
	})
}

func (r *rangeValue) Item(key any) (any, bool, error) {
	i, ok := position(key, r.count)
	if !ok {
		return nil, false, nil
	}
	return r.at(i), true, nil
}

func (r *rangeValue) Attr(name string) (any, bool, error) {
	switch name {
	case "start":
		return r.start, true, nil
	case "stop":
		return r.stop, true, nil
	case "step":
		return r.step, true, nil
	case "index", "count":
		items := make([]any, r.count)
		for i := range items {
			items[i] = r.at(i)
		}
		m := tupleMethod(name)
		return &builtin{name, func(c *Call) (any, error) { return r.outOf(c, m, items) }}, true, nil
	}
	return nil, false, nil
}

// outOf calls a method of sequences and replaces its message about a missing element.
func (r *rangeValue) outOf(c *Call, m method, items []any) (any, error) {
	v, err := m(c, data.Tuple(items))
	if isKind(err, ValueError) {
		return nil, Raise(ValueError, "%s is not in range", reprOf(c.Args[0]))
	}
	return v, err
}

func (r *rangeValue) Text() string {
	if r.step == 1 {
		return fmt.Sprintf("range(%d, %d)", r.start, r.stop)
	}
	return fmt.Sprintf("range(%d, %d, %d)", r.start, r.stop, r.step)
}

func (r *rangeValue) equal(o *rangeValue) bool {
	return r.count == o.count && (r.count == 0 || r.start == o.start &&
		(r.count == 1 || r.step == o.step))
}

func (r *rangeValue) slice(start, stop, step, count int) any {
	first := r.start + int64(start)*r.step
	by := r.step * int64(step)
	return &rangeValue{first, by, count, r.start + int64(stop)*r.step}
}
