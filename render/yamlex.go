package render

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// YAMLEX is the renderer yamlex: YAML with !aggregate and !reset (salt/renderers/yamlex.py).
type YAMLEX struct{}

// marksKey is the context key of WithMarks.
type marksKey struct{}

// WithMarks returns a context in which the renderer yamlex returns marked values as yaml.Aggregate.
func WithMarks(ctx context.Context) context.Context {
	return context.WithValue(ctx,
		marksKey{}, true)
}

// Name implements Renderer.
func (YAMLEX) Name() string { return "yamlex" }

// Render implements Renderer. An empty result is an empty map.
func (YAMLEX) Render(ctx context.Context, s *Step) (any, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	v, err := yaml.LoadYAMLEX([]byte(text), yaml.Options{})
	if err != nil {
		return nil, yamlError(err)
	}
	if !data.Truth(v) {
		return data.NewMap(), nil
	}
	if ctx.Value(marksKey{}) == nil {
		v = yaml.Plain(v)
	}
	return v, nil
}
