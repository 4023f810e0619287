package thorium

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// operations returns the operations on numbers by name. Each gets at least one number.
func operations() map[string]func(list []float64) float64 {
	return map[string]func([]float64) float64{
		"add": sum, "mul": product, "mean": func(list []float64) float64 { return sum(list) / float64(len(list)) },
		"median": median, "median_low": func(list []float64) float64 { return sorted(list)[(len(list)-1)/2] },
		"median_high":    func(list []float64) float64 { return sorted(list)[len(list)/2] },
		"median_grouped": medianGrouped, "mode": mode,
	}
}

func (r *register) calcFunctions(*loader.Env) []loader.Func {
	all := []loader.Func{loader.F("calc", r.calc)}
	for name := range operations() {
		all = append(all, loader.F(name, func(ctx context.Context, a operationArgs) (any, error) {
			return r.calc(ctx, calcArgs{Name: a.Name, Num: a.Num, Oper: name, Minimum: a.Minimum, Maximum: a.Maximum,
				Ref: a.Ref})
		}))
	}
	return all
}

type operationArgs struct {
	Name    any
	Num     int64
	Minimum any `default:"0"`
	Maximum any `default:"0"`
	Ref     any `default:"None"`
}

type calcArgs struct {
	Name    any
	Num     int64
	Oper    any
	Minimum any `default:"0"`
	Maximum any `default:"0"`
	Ref     any `default:"None"`
}

// calc computes with the num newest values of a list. With ref they are the fields of that name. It
// fails if the answer is below minimum or above maximum; 0 means no limit.
func (r *register) calc(_ context.Context, a calcArgs) (any, error) {
	operate, ok := operations()[data.Str(a.Oper)]
	if !ok {
		return change.Failed(a.Name, "there is no operation "+data.Str(a.Oper)), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.value(a.Name)
	if !ok {
		return change.Failed(a.Name, data.Str(a.Name)+" not found in register"), nil
	}
	list, ok := v.([]any)
	if !ok {
		return change.Failed(a.Name, "Value "+data.Str(a.Name)+" is no list"), nil
	}
	numbers, whole, err := numbersOf(newest(list, int(min(max(a.Num, 0), maxValues))), a.Ref)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	answer := operate(numbers)
	least, _ := number(a.Minimum)
	most, _ := number(a.Maximum)
	fits := (least <= 0 || answer >= least) && (most <= 0 || answer <= most)
	return change.New(a.Name, fits, data.NewMap("Number of values", int64(len(numbers)), "Operator", a.Oper,
		"Answer", numeral(answer, whole)), ""), nil
}

// numbersOf returns values, or their fields, as numbers, the last one first, and whether all are whole.
func numbersOf(list []any, ref any) (numbers []float64, whole bool, err error) {
	whole = true
	for _, v := range slices.Backward(list) {
		if ref != nil {
			m, _ := v.(*data.Map)
			v = m.Value(ref)
		}
		n, ok := number(v)
		if !ok {
			return nil, false, fmt.Errorf("the value %s is no number", data.Repr(v))
		}
		_, isFloat := v.(float64)
		whole = whole && !isFloat
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		return nil, false, errors.New("there are no values")
	}
	return numbers, whole, nil
}

func sum(list []float64) float64 {
	total := 0.0
	for _, n := range list {
		total += n
	}
	return total
}

func product(list []float64) float64 {
	total := 1.0
	for _, n := range list {
		total *= n
	}
	return total
}

func sorted(list []float64) []float64 { return slices.Sorted(slices.Values(list)) }

func median(list []float64) float64 {
	s := sorted(list)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// medianGrouped is the median of values that stand for intervals of length 1 around them (Python's
// statistics.median_grouped).
func medianGrouped(list []float64) float64 {
	s := sorted(list)
	if len(s) == 1 {
		return s[0]
	}
	x := s[len(s)/2]
	below, _ := slices.BinarySearch(s, x)
	same := 0
	for _, n := range s[below:] {
		if n == x {
			same++
		}
	}
	return x - 0.5 + (float64(len(s))/2-float64(below))/float64(same)
}

// mode returns the most common value, the first one of several.
func mode(list []float64) float64 {
	counts := map[float64]int{}
	for _, n := range list {
		counts[n]++
	}
	best, times := math.NaN(), 0
	for _, n := range list {
		if counts[n] > times {
			best, times = n, counts[n]
		}
	}
	return best
}
