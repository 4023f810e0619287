package render

import "context"

// watchKey is the context key of [Watch].
type watchKey struct{}

// Watch returns a context in which tell is called for every other source of data that a rendering
// uses: random numbers, the clock, the network, files of the host, and renderers that may use them.
// The source itself, the imported files, options, grains, pillar and the functions called through
// its Env do not count. If tell was not called, rendering again with the same inputs gives the same
// result. tell may be called by several goroutines.
func Watch(ctx context.Context, tell func(what string)) context.Context {
	return context.WithValue(ctx, watchKey{}, tell)
}

// Touch reports to the watcher of ctx that a rendering uses data from elsewhere.
func Touch(ctx context.Context, what string) {
	if tell, ok := ctx.Value(watchKey{}).(func(string)); ok {
		tell(what)
	}
}

// isDeterministic reports whether a renderer's result depends only on the inputs that [Watch]
// lists.
func isDeterministic(r Renderer) bool {
	switch r.(type) {
	case YAML, JSON, Text:
		return true
	}
	switch r.Name() {
	case "jinja": // it calls Touch itself
		return true
	case "toml": // whose type a small build does not have
		return true
	}
	return false
}
