package saltjinja

import (
	"context"

	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render"
)

// impureFilters returns the filters that use other data than their arguments: random numbers, the
// clock, the network and the host.
func impureFilters() []string {
	return []string{
		"date_format", "strftime", "is_empty", "is_text_file", "is_bin_file", "list_files", "which",
		"get_uid", "rand_str", "random_hash", "file_hashsum", "random_sample", "random_shuffle",
		"random_str", "gen_mac", "dns_check", "http_query",
	}
}

// reportUse makes these filters report to the watcher of the rendering; see render.Watch.
func reportUse(filters map[string]jinja.Func) map[string]jinja.Func {
	for _, name := range impureFilters() {
		fn := filters[name]
		filters[name] = func(c *jinja.Call) (any, error) {
			render.Touch(c.Context(), "filter "+name)
			return fn(c)
		}
	}
	return filters
}

// withRandomHook makes Jinja's own filter random report, too.
func withRandomHook(ctx context.Context) context.Context {
	return context.WithValue(ctx, jinja.RandomHookKey{},
		jinja.RandomHook(func() { render.Touch(ctx, "filter random") }))
}
