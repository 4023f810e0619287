package render

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// Text returns what the renderer before gave, which must be text.
func (s *Step) Text() (string, error) {
	if text, ok := s.Data.(string); ok {
		return text, nil
	}
	return "", Errorf("a renderer of text stands in the pipe of %s behind one that gives data", s.place())
}

// YAML is the renderer yaml (salt/renderers/yaml.py).
type YAML struct{}

// Name implements Renderer.
func (YAML) Name() string { return "yaml" }

// Render implements Renderer. What counts as nothing is an empty map.
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

// yamlError is how Salt tells an error of PyYAML: of a scanner's error the problem alone, those of parser and constructor
// as SaltRenderError, others as they are.
func yamlError(err error) error {
	var e *yaml.Error
	if !errors.As(err, &e) || e.ProblemMark == nil || strings.HasPrefix(e.Problem, "found undefined alias") ||
		strings.HasPrefix(e.Problem, "found duplicate anchor") || strings.HasPrefix(e.Context, "expected a single document") {
		return err
	}
	if e.OfScanner() {
		return &Error{Message: e.Problem, Line: e.ProblemMark.Line + 1, Err: err}
	}
	return &Error{Message: err.Error(), Line: e.ProblemMark.Line + 1, Err: err}
}
