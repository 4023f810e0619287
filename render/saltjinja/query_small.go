//go:build small && !formats

package saltjinja

import "github.com/brineproject/brine/jinja"

// jsonQuery returns an error, as in Salt without the library jmespath.
func jsonQuery(*jinja.Call) (any, error) {
	return nil, jinja.Raise("RuntimeError",
		"json_query: this small build has no JMESPath: build with -tags small,formats")
}
