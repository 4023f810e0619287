package render

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// JSON is the renderer json (salt/renderers/json.py).
type JSON struct{}

// Name implements Renderer.
func (JSON) Name() string { return "json" }

// Render implements Renderer.
func (JSON) Render(_ context.Context, s *Step) (any, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "#!") {
		_, text, _ = strings.Cut(text, "\n")
	}
	if trimSpace(text) == "" {
		return data.NewMap(), nil
	}
	return pyjson.Load(text)
}
