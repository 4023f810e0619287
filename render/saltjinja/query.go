//go:build !small || formats

package saltjinja

import (
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render/jmespath"
)

// jsonQuery searches with JMESPath.
func jsonQuery(c *jinja.Call) (any, error) {
	p := bind(c, "json_query", "data", "expr")
	expr := p.text(1)
	if p.err != nil {
		return nil, p.err
	}
	v, err := jinja.Export(p.args[0])
	if err != nil {
		return nil, err
	}
	found, err := jmespath.Search(expr, v)
	if err != nil {
		return nil, jinja.Raise("JMESPathError", "%s", err)
	}
	return jinja.Import(found), nil
}
