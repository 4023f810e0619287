package saltjinja

import "github.com/brineproject/brine/jinja"

// Language returns an environment with Salt's filters, tests and tags, for programs that read
// templates without rendering them.
func Language() (*jinja.Environment, error) {
	return jinja.New(jinja.Options{Filters: filters(), Tests: tests(), Globals: globals(), Tags: tags()})
}
