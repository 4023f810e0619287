package render

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// Text returns the result of the previous renderer, which must be text.
func (s *Step) Text() (string, error) {
	if text, ok := s.Data.(string); ok {
		return text, nil
	}
	return "", Errorf("in the pipe of %s, a renderer of text follows one that returns data",
		s.place())
}

// YAML is the renderer yaml (salt/renderers/yaml.py).
type YAML struct{}

// Name implements Renderer.
func (YAML) Name() string { return "yaml" }

// Render implements Renderer. An empty result is an empty map.
func (YAML) Render(_ context.Context, s *Step) (any, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	v, err := yaml.Load([]byte(text), yaml.Options{Ordered: true})
	if err != nil {
		return nil, yamlError(err)
	}
	if !data.Truth(v) {
		return data.NewMap(), nil
	}
	return v, nil
}

// yamlError converts an error of PyYAML as Salt does. A scanner's error keeps only the problem,
// those of parser and constructor become SaltRenderError, and others stay as they are.
func yamlError(err error) error {
	var e *yaml.Error
	if !errors.As(err, &e) || e.ProblemMark == nil ||
		strings.HasPrefix(e.Problem, "found undefined alias") ||
		strings.HasPrefix(e.Problem, "found duplicate anchor") ||
		strings.HasPrefix(e.Context, "expected a single document") {
		return err
	}
	if e.OfScanner() {
		return &Error{Message: e.Problem, Line: e.ProblemMark.Line + 1, Err: err}
	}
	return &Error{Message: err.Error(), Line: e.ProblemMark.Line + 1, Err: err}
}
