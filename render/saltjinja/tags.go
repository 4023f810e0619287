package saltjinja

import (
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/yaml"
)

// tags returns Salt's statements (salt/utils/jinja.py, SerializerExtension).
func tags() map[string]jinja.Tag {
	return map[string]jinja.Tag{
		"load_yaml": loadTag{loadYAML}, "load_json": loadTag{loadJSON},
		"load_text": loadTag{loadText}, "import_yaml": importTag{loadYAML},
		"import_json": importTag{loadJSON}, "import_text": importTag{loadText},
		"profile": profileTag{},
	}
}

// A reader converts the output of a template, or another value, to a value.
type reader func(v any) (any, error)

// A loadTag is {% load_yaml as name %} … {% endload %}.
type loadTag struct{ read reader }

// Parse implements jinja.Tag.
func (t loadTag) Parse(p *jinja.TagParser) func(r *jinja.TagRun) error {
	p.Need("as")
	p.Target()
	body := p.Body(true, "endload")
	return func(r *jinja.TagRun) error {
		text, err := r.Body(body)
		if err != nil {
			return err
		}
		v, err := t.read(text)
		if err != nil {
			return err
		}
		return r.Set(v)
	}
}

// An importTag is {% import_yaml "file" as name %}, with or without context.
type importTag struct{ read reader }

// Parse implements jinja.Tag.
func (t importTag) Parse(p *jinja.TagParser) func(r *jinja.TagRun) error {
	name := p.Expression()
	p.Need("as")
	p.Target()
	withContext := p.WithContext(false)
	return func(r *jinja.TagRun) error {
		file, err := r.Value(name)
		if err != nil {
			return err
		}
		text, err := r.Import(file, withContext)
		if err != nil {
			return err
		}
		v, err := t.read(text)
		if err != nil {
			return err
		}
		return r.Set(v)
	}
}

// A profileTag is {% profile as "label" %} … {% endprofile %}: it logs the duration of its body.
type profileTag struct{}

// Parse implements jinja.Tag.
func (profileTag) Parse(p *jinja.TagParser) func(r *jinja.TagRun) error {
	p.Need("as")
	label := p.Expression()
	body := p.Body(false, "endprofile")
	return func(r *jinja.TagRun) error {
		name, err := r.Value(label)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := r.RunBody(body); err != nil {
			return err
		}
		if log := stateOf(r.Context()).step.Engine.Env().Log; log != nil {
			log.Debugf("Time (in seconds) to render profile block '%v': %f", name,
				time.Since(start).Seconds())
		}
		return nil
	}
}

// loadYAML is the filter load_yaml. For an error in the document, Salt only reports its own
// follow-up error, since libyaml keeps no text to show. The document's error is in the traceback.
func loadYAML(v any) (any, error) {
	text, ok := textOf(v)
	if !ok {
		return nil, typeError(v, "a string or stream input is required")
	}
	out, err := yaml.Load([]byte(text), yaml.Options{})
	if err == nil {
		return jinja.Import(out), nil
	}
	if e, ok := err.(*yaml.Error); ok && e.ProblemMark == nil { //nolint:errorlint // the error itself, not one within
		return nil, jinja.Raise(jinja.RuntimeError, "Encountered error loading yaml: %s", err)
	}
	return nil, &jinja.Error{Kind: jinja.AttributeError,
		Message: "'NoneType' object has no attribute 'splitlines'", Err: err}
}

// loadJSON is the filter load_json.
func loadJSON(v any) (any, error) {
	text, ok := textOf(v)
	if !ok {
		if b, isBytes := v.([]byte); isBytes {
			text, ok = string(b), true
		}
	}
	var cause error
	if ok {
		out, err := pyjson.Load(text)
		if err == nil {
			return jinja.Import(out), nil
		}
		cause = err
	}
	return nil, &jinja.Error{Kind: jinja.RuntimeError, Message: "Unable to load json from " +
		data.Str(plain(v)), Err: cause}
}

// loadText is the filter load_text.
func loadText(v any) (any, error) { return v, nil }

// textOf returns the text of a str or Markup.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case jinja.Markup:
		return string(v), true
	}
	return "", false
}

// plain converts a template's value to one of package data, for messages.
func plain(v any) any {
	out, err := jinja.Export(v)
	if err != nil {
		return strings.TrimSpace(jinja.TypeName(v))
	}
	return out
}
