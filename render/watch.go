package render

import "context"

// watchKey is the key of what [Watch] puts into a context.
type watchKey struct{}

// Watch returns a context in which tell hears of whatever a rendering takes from elsewhere than its source, the files that it
// imports, options, grains, pillar and the functions that it calls through its Env: chance, the clock, the network, files of
// the host, and renderers that may do so. What nothing was told of is the same each time. tell may be called by several
// goroutines.
func Watch(ctx context.Context, tell func(what string)) context.Context {
	return context.WithValue(ctx, watchKey{}, tell)
}

// Touch tells who watches that a rendering takes something from elsewhere.
func Touch(ctx context.Context, what string) {
	if tell, ok := ctx.Value(watchKey{}).(func(string)); ok {
		tell(what)
	}
}

// settled reports whether what a renderer gives depends on nothing but what [Watch] names.
func settled(r Renderer) bool {
	switch r.(type) {
	case YAML, JSON, Text, TOML:
		return true
	}
	return r.Name() == "jinja" // which tells itself
}
