package jinja

import (
	"math/big"

	"github.com/brineproject/brine/data"
)

// builtinTests are the tests of Jinja (jinja2/tests.py).
func builtinTests() map[string]Func {
	tests := map[string]Func{
		"defined":   ask(func(v any) bool { _, u := v.(*Undefined); return !u }, "test_defined"),
		"undefined": ask(func(v any) bool { _, u := v.(*Undefined); return u }, "test_undefined"),
		"none":      ask(func(v any) bool { return v == nil }, "test_none"),
		"boolean":   ask(func(v any) bool { _, ok := v.(bool); return ok }, "test_boolean"),
		"false":     ask(func(v any) bool { return v == false }, "test_false"),
		"true":      ask(func(v any) bool { return v == true }, "test_true"),
		"integer":   ask(isInteger, "test_integer"),
		"float":     ask(func(v any) bool { _, ok := v.(float64); return ok }, "test_float"),
		"number":    ask(isNumber, "test_number"),
		"string":    ask(func(v any) bool { _, ok := textOf(v); return ok }, "test_string"),
		"mapping":   ask(isMapping, "test_mapping"),
		"sequence":  testSequence,
		"iterable":  testIterable,
		"callable":  testCallable,
		"escaped":   ask(isEscaped, "test_escaped"),
		"lower":     testCase(isLower, "test_lower"),
		"upper":     testCase(isUpper, "test_upper"),

		"odd":         testModulo("test_odd", 2, 1),
		"even":        testModulo("test_even", 2, 0),
		"divisibleby": testDivisible,
		"sameas":      testSameAs,
		"in":          testIn,
		"filter": testKnown("test_filter",
			func(r *run) map[string]Func { return r.env.filters }),
		"test": testKnown("test_test", func(r *run) map[string]Func { return r.env.tests }),
	}
	for op, names := range map[tokenKind][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, ">": {">", "gt", "greaterthan"},
		">=": {">=", "ge"}, "<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
	} {
		for _, n := range names {
			tests[n] = testOperator(op)
		}
	}
	return tests
}

// ask makes a test of the value alone.
func ask(is func(any) bool, name string) Func {
	return func(c *Call) (any, error) {
		if len(c.Args) != 1 || c.Kw != nil {
			if _, err := c.bind(signature{name: name, params: []param{need("value")}}); err != nil {
				return nil, err
			}
		}
		return is(c.Args[0]), nil
	}
}

func isInteger(v any) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

func isMapping(v any) bool {
	switch v.(type) {
	case *data.Map, Mapper:
		return true
	}
	return false
}

func isCallable(v any) bool {
	switch v.(type) {
	case Callable, *Undefined:
		return true
	}
	return false
}

func isEscaped(v any) bool {
	switch v := v.(type) {
	case Markup:
		return true
	case *Undefined:
		return v.lenience == Chainable
	}
	return false
}

func testCallable(c *Call) (any, error) {
	v, err := c.one("callable")
	return isCallable(v), err
}

func testSequence(c *Call) (any, error) {
	if _, err := c.bind(signature{name: "test_sequence",
		params: []param{need("value")}}); err != nil {
		return nil, err
	}
	switch v := c.Args[0].(type) {
	case string, Markup, *List, data.Tuple, *data.Map, []byte, *rangeValue:
		return true, nil
	case *Undefined:
		return v.lenience != Strict, nil
	case *dictView, *set:
		return false, nil
	case Sized:
		_, ok := v.(Itemer)
		return ok, nil
	}
	return false, nil
}

func testIterable(c *Call) (any, error) {
	if _, err := c.bind(signature{name: "test_iterable",
		params: []param{need("value")}}); err != nil {
		return nil, err
	}
	_, err := c.f.run.iterate(c.Args[0])
	if isKind(err, TypeError) {
		return false, nil
	}
	return err == nil, err
}

func testCase(is func(string) bool, name string) Func {
	return func(c *Call) (any, error) {
		args, err := c.bind(signature{name: name, params: []param{need("value")}})
		if err != nil {
			return nil, err
		}
		text, err := c.f.run.str(args[0])
		return is(text), err
	}
}

func testModulo(name string, by, rest int64) Func {
	return func(c *Call) (any, error) {
		args, err := c.bind(signature{name: name, params: []param{need("value")}})
		if err != nil {
			return nil, err
		}
		v, err := c.f.run.binary("%", args[0], by)
		if err != nil {
			return nil, err
		}
		return c.f.run.equal(v, rest)
	}
}

func testDivisible(c *Call) (any, error) {
	args, err := c.bind(signature{name: "test_divisibleby",
		params: []param{need("value"), need("num")}})
	if err != nil {
		return nil, err
	}
	v, err := c.f.run.binary("%", args[0], args[1])
	if err != nil {
		return nil, err
	}
	return c.f.run.equal(v, int64(0))
}

func testSameAs(c *Call) (any, error) {
	args, err := c.bind(signature{name: "test_sameas",
		params: []param{need("value"), need("other")}})
	if err != nil {
		return nil, err
	}
	return identical(args[0], args[1]), nil
}

func testIn(c *Call) (any, error) {
	args, err := c.bind(signature{name: "test_in", params: []param{need("value"), need("seq")}})
	if err != nil {
		return nil, err
	}
	return c.f.run.contains(args[1], args[0])
}

func testKnown(name string, table func(*run) map[string]Func) Func {
	return func(c *Call) (any, error) {
		args, err := c.bind(signature{name: name, hidden: 1, params: []param{need("value")}})
		if err != nil {
			return nil, err
		}
		k, err := lookupKey(args[0])
		if err != nil {
			return nil, err
		}
		s, _ := k.(string)
		return table(c.f.run)[s] != nil, nil
	}
}

func testOperator(op tokenKind) Func {
	name := map[tokenKind]string{"==": "eq", "!=": "ne", ">": "gt", ">=": "ge", "<": "lt",
		"<=": "le"}[op]
	return func(c *Call) (any, error) {
		if err := c.between("_operator."+name, 2, 2); err != nil {
			return nil, err
		}
		return c.f.run.operate(op, c.Args[0], c.Args[1])
	}
}
