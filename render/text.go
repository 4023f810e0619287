package render

import "context"

// Text is the renderer text: it returns text unchanged.
type Text struct{}

// Name implements Renderer.
func (Text) Name() string { return "text" }

// Render implements Renderer.
func (Text) Render(_ context.Context, s *Step) (any, error) { return s.Text() }
