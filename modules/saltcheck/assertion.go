package saltcheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
)

// A kind is one of the assertions. Its texts are Salt's.
type kind struct {
	alone bool   // it needs no expected value
	cast  bool   // the expected value is converted to the type of the result first
	sign  string // in the details
	test  string // the comparison of expected and returned
	fail  string // with expected and returned, or with returned if alone
	quiet string // for print_result: False; "" if that has no effect
}

// notFalse is the text of failures that Salt has for all four comparisons of order.
const notFalse = "%[2]s not False"

func kinds() map[string]kind {
	return map[string]kind{
		"assertEqual": {cast: true, sign: "==", test: "expected == returned",
			fail: "%[1]s is not equal to %[2]s", quiet: "Result is not equal"},
		"assertNotEqual": {cast: true, sign: "!=", test: "expected != returned",
			fail: "%[1]s is equal to %[2]s", quiet: "Result is equal"},
		"assertIn": {sign: "IN", test: "expected in returned",
			fail: "%[1]s not found in %[2]s", quiet: "Result not found"},
		"assertNotIn": {sign: "NOT IN", test: "expected not in returned",
			fail: "%[1]s was found in %[2]s", quiet: "Result was found"},
		"assertGreater":      {cast: true, sign: ">", test: "expected > returned", fail: notFalse},
		"assertGreaterEqual": {cast: true, sign: ">=", test: "expected >= returned", fail: notFalse},
		"assertLess":         {cast: true, sign: "<", test: "expected < returned", fail: notFalse},
		"assertLessEqual":    {cast: true, sign: "<=", test: "expected <= returned", fail: notFalse},
		"assertTrue":         {alone: true, sign: "True is", fail: "%[2]s not True"},
		"assertFalse":        {alone: true, sign: "False is", fail: "%[2]s not False"},
		"assertEmpty":        {alone: true, sign: "IS EMPTY", fail: "%[2]s is not empty"},
		"assertNotEmpty":     {alone: true, sign: "IS NOT EMPTY", fail: "value is empty"},
	}
}

// alone decides the assertions that need no expected value. It may replace the value for messages.
func alone(name string, v any) (holds bool, shown any) {
	switch name {
	case "assertTrue":
		return v == true, v
	case "assertFalse":
		if text, ok := v.(string); ok {
			v = text != ""
		}
		return v == false, v
	case "assertEmpty":
		return !data.Truth(v), v
	}
	return data.Truth(v), v
}

// A judgement is the result of one call, about which assertions are made.
type judgement struct {
	compare  *comparer
	fun      string
	args     any
	returned any
	details  bool // add the call and the comparison to the results
	shown    bool // show expected and returned values
}

// assertAll adds the results of several assertions, and the status of the test.
func (j *judgement) assertAll(
	ctx context.Context, list []*data.Map, result *data.Map,
) error {
	status := "Pass"
	for i, a := range list {
		one := data.NewMap()
		if err := j.assert(ctx, a, one); err != nil {
			return err
		}
		result.Set(fmt.Sprintf("assertion%d", i+1), one)
		if one.Value("status") != "Pass" {
			status = "Fail"
		}
	}
	result.Set("status", status)
	return nil
}

// assert adds the status of an assertion to result, and the details if they are wanted.
func (j *judgement) assert(ctx context.Context, a, result *data.Map) error {
	returned, section := j.section(a)
	name := data.Str(a.Value("assertion"))
	if j.fun == stateApply {
		name = "assertNotEmpty"
	}
	k, ok := kinds()[name]
	expected := expectedOf(a)
	var err error
	if k.cast || !ok {
		if expected, err = cast(expected, returned); err != nil {
			return err
		}
	}
	status := "Fail - bad assertion"
	if ok {
		if status, err = j.status(ctx, name, expected, returned); err != nil {
			return err
		}
	}
	result.Set("status", status)
	if j.details {
		return j.describe(result, section, k.sign, expected, returned)
	}
	return nil
}

// section returns the part of the result that an assertion is about, and the path of that part. A
// missing part is False.
func (j *judgement) section(a *data.Map) (part any, path string) {
	v := a.Value("assertion_section")
	if !data.Truth(v) {
		return j.returned, ""
	}
	path, delimiter := data.Str(v), ":"
	if d, ok := a.Get("assertion_section_delimiter"); ok {
		delimiter = data.Str(d)
	}
	part, ok := data.Lookup(j.returned, path, delimiter)
	if !ok {
		return false, path
	}
	return part, path
}

// status returns Pass, or Fail with the reason.
func (j *judgement) status(ctx context.Context, name string, expected, returned any) (string, error) {
	k := kinds()[name]
	holds, shown := false, returned
	var err error
	if k.alone {
		holds, shown = alone(name, returned)
	} else {
		holds, err = j.compare.holds(ctx, k.test, expected, returned)
	}
	switch {
	case err != nil:
		return "", err
	case holds:
		return "Pass", nil
	case k.quiet != "" && !j.shown:
		return "Fail: " + k.quiet, nil
	case name == "assertNotEmpty":
		return "Fail: " + k.fail, nil
	}
	// each text uses the last argument, so that none of them counts as extra
	text := fmt.Sprintf(k.fail+"%[3]s", data.ClassText(expected), data.ClassText(shown), "")
	return "Fail: " + text, nil
}

// describe adds the call and the comparison to the result of an assertion.
func (j *judgement) describe(
	result *data.Map, section, sign string, expected, returned any,
) error {
	args, err := pyjson.Append(nil, j.args, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return loader.Execution("describe the arguments of %s: %w", j.fun, err)
	}
	title, call := "module.function [args]", j.fun+" "+string(args)
	if section != "" {
		title, call = title+" assertion_section", call+" "+section
	}
	result.Set(title, call)
	text, value := sign+" ", "hidden"
	if expected != nil {
		text = data.ClassText(expected) + " " + text
	}
	if j.shown {
		value = data.ClassText(returned)
	}
	result.Set("saltcheck assertion", text+value)
	return nil
}

// A comparer compares values as Python does, with the expressions of Jinja.
type comparer struct{ templates map[string]*jinja.Template }

func newComparer() (*comparer, error) {
	env, err := jinja.New(jinja.Options{Undefined: jinja.Strict})
	if err != nil {
		return nil, err
	}
	c := &comparer{map[string]*jinja.Template{}}
	for name, k := range kinds() {
		if k.alone {
			continue
		}
		c.templates[k.test], err = env.Parse(name, "{% if "+k.test+" %}1{% endif %}")
		if err != nil {
			return nil, fmt.Errorf("parse the comparison of %s: %w", name, err)
		}
	}
	return c, nil
}

// holds evaluates a comparison. Values that cannot be compared are a TypeError.
func (c *comparer) holds(ctx context.Context, test string, expected, returned any) (bool, error) {
	out, err := c.templates[test].Render(ctx,
		map[string]any{"expected": expected, "returned": returned})
	if e, ok := errors.AsType[*jinja.Error](err); ok {
		return false, loader.Exception(string(e.Kind), "%s", e.Message)
	}
	return out != "", err
}
