// Package template names the template engines of Salt (salt/utils/templates.py).
package template

import "slices"

// IsEngine reports whether Salt has a template engine of a name (TEMPLATE_REGISTRY). This host may
// have no renderer for it.
func IsEngine(name any) bool {
	text, _ := name.(string)
	return slices.Contains([]string{"cheetah", "genshi", "jinja", "mako", "py", "wempy"}, text)
}
