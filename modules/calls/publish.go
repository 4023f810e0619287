package calls

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Publication is a command for other minions. Fields with their zero value are not passed on.
type Publication struct {
	Target  any
	Fun     string
	Arg     any // one argument, or a list of them
	Timeout int // seconds to wait for results
}

// Publish calls publish.publish and returns the results by minion; the dictionary is empty if no
// minion replied. If publish.publish returns a string, as it does when the master was too slow,
// that becomes the error.
func Publish(ctx context.Context, env *loader.Env, p Publication) (*data.Map, error) {
	const fun = "publish.publish"
	var w words
	w.add("arg", p.Arg != nil, p.Arg)
	w.add("timeout", p.Timeout != 0, int64(p.Timeout))
	v, err := env.Call(ctx, fun, []any{p.Target, p.Fun}, w.kwargs)
	if err != nil {
		return nil, err
	}
	if text, ok := v.(string); ok && text != "" {
		return nil, loader.Execution("%s", text)
	}
	if !data.Truth(v) {
		return &data.Map{}, nil
	}
	return loader.ResultAs[*data.Map](fun, v)
}
