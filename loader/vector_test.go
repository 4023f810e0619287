package loader

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

var argSections = []string{"yamlify_arg", "parse_kwarg", "parse_input", "parse_input_typed",
	"condition_input"}

func TestVectorArguments(t *testing.T) {
	f := vectors.Load(t, "12-args.json")
	vectors.Later(t, f, argSections, map[string]string{"jid": "job"})
	run := map[string]func(*testing.T, *vectors.Case){
		"yamlify_arg": checkYAMLArg, "parse_kwarg": checkParseKwarg, "parse_input": checkParseInput,
		"parse_input_typed": checkParseTyped, "condition_input": checkCondition,
	}
	for _, name := range argSections {
		for _, c := range f.Section(name) {
			t.Run(name+"/"+c.Name, func(t *testing.T) { run[name](t, c.On(t)) })
		}
	}
}

func checkYAMLArg(t *testing.T, c *vectors.Case) {
	c.Only("input", "value", "type")
	in := c.Value("input")
	got := YAMLArg(in)
	same(t, "YAMLArg of "+data.Repr(in), got, c.Value("value"))
	if name := TypeName(got); name != c.Text("type") {
		t.Errorf("YAMLArg(%v) is a %s, want a %s", in, name, c.Text("type"))
	}
}

func checkParseKwarg(t *testing.T, c *vectors.Case) {
	c.Only("input", "result")
	name, value, ok := ParseKwarg(c.Text("input"))
	got := data.Tuple{nil, nil}
	if ok {
		got = data.Tuple{name, value}
	}
	same(t, "ParseKwarg of "+data.Repr(c.Text("input")), got, c.Value("result"))
}

func checkParseInput(t *testing.T, c *vectors.Case) {
	c.Only("argv", "wire_arg", "args", "kwargs", "wire_arg_no_parse_k")
	var argv []string
	for _, a := range c.List("argv") {
		argv = append(argv, a.(string))
	}
	same(t, "WireArgs", WireArgs(argv), c.Value("wire_arg"))
	same(t, "WireArgs with k and name unparsed", WireArgs(argv, "k", "name"), c.Value("wire_arg_no_parse_k"))
	args, kwargs := ParseInput(c.List("argv"))
	same(t, "args", args, c.Value("args"))
	same(t, "kwargs", kwargs, c.Value("kwargs"))
}

func checkParseTyped(t *testing.T, c *vectors.Case) {
	c.Only("args_in", "wire_arg")
	same(t, "ConditionInput of ParseInput", ConditionInput(ParseInput(c.List("args_in"))),
		c.Value("wire_arg"))
}

func checkCondition(t *testing.T, c *vectors.Case) {
	c.Only("args", "kwargs", "wire_arg")
	kwargs, _ := c.Value("kwargs").(*data.Map)
	same(t, "ConditionInput", ConditionInput(c.List("args"), kwargs), c.Value("wire_arg"))
}

// same compares by repr, so that 1, 1.0 and True differ and the order of keys counts.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := data.Repr(got), data.Repr(want); g != w {
		t.Errorf("%s gives %s, want %s", what, g, w)
	}
}
