package jinja_test

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

func Example() {
	env, err := jinja.New(jinja.Options{
		Undefined: jinja.Strict,
		Loader:    jinja.MapLoader{"lib.jinja": "{% macro server(s) %}server {{ s }};{% endmacro %}"},
		Filters: map[string]jinja.Func{"port": func(c *jinja.Call) (any, error) {
			args, err := c.Bind("port", "host", "number=")
			if err != nil {
				return nil, err
			}
			if !jinja.Given(args[1]) {
				return args[0], nil
			}
			return fmt.Sprintf("%v:%v", args[0], args[1]), nil
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := env.Parse("upstream.conf", `{% from "lib.jinja" import server -%}
{% for host in pillar.hosts | sort %}
{{ server(host | port(8080)) }}
{%- endfor %}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := t.Render(context.Background(),
		map[string]any{"pillar": data.NewMap("hosts", []any{"b", "a"})})
	fmt.Println(text, err)

	_, err = t.Render(context.Background(), map[string]any{"pillar": data.NewMap()})
	fmt.Println(err)
	// Output:
	// server a:8080;
	// server b:8080; <nil>
	// upstream.conf: line 2: 'dict object' has no attribute 'hosts'
}
