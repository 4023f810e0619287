package saltjinja

import (
	"context"

	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render"
)

// elsewhere are the filters that take something from elsewhere than their arguments: chance, the clock, the network and the host.
func elsewhere() []string {
	return []string{
		"date_format", "strftime", "is_empty", "is_text_file", "is_bin_file", "list_files", "which", "get_uid", "rand_str", "random_hash",
		"file_hashsum", "random_sample", "random_shuffle", "random_str", "gen_mac", "dns_check", "http_query",
	}
}

// telling has these filters tell who watches the rendering; see render.Watch.
func telling(filters map[string]jinja.Func) map[string]jinja.Func {
	for _, name := range elsewhere() {
		fn := filters[name]
		filters[name] = func(c *jinja.Call) (any, error) {
			render.Touch(c.Context(), "filter "+name)
			return fn(c)
		}
	}
	return filters
}

// withChance has Jinja's own filter random do the same.
func withChance(ctx context.Context) context.Context {
	return context.WithValue(ctx, jinja.Chance{}, jinja.Chancer(func() { render.Touch(ctx, "filter random") }))
}
