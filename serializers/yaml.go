package serializers

import (
	"bytes"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// readYAML parses a document. No option has an effect.
func readYAML(v any, _ *options) (any, error) {
	text, err := textOf(v)
	if err != nil {
		return nil, err
	}
	out, err := yaml.Load([]byte(text), yaml.Options{})
	if bad, ok := errors.AsType[*yaml.Error](err); ok && bad.OfScanner() {
		return nil, errors.New("Unknown yaml render error") //nolint:staticcheck // Salt's text
	}
	return out, err
}

// writeYAML writes as yaml.dump of PyYAML does, with sorted keys, and removes the end.
func writeYAML(v any, o *options) (any, error) {
	d := yaml.DumpOptions{
		SortKeys: o.truth("sort_keys", true), SortOrdered: true,
		EscapeUnicode: !o.truth("allow_unicode", false), ExplicitStart: o.truth("explicit_start",
			false), ExplicitEnd: o.truth("explicit_end", false),
	}
	switch style := o.get("default_flow_style", nil); {
	case style == nil:
		d.Flow = yaml.Leaves
	case data.Truth(style):
		d.Flow = yaml.Always
	}
	for name, to := range map[string]*int{"indent": &d.Indent, "width": &d.Width} {
		if n := o.get(name, nil); n != nil {
			i, err := loader.Int(n)
			if err != nil {
				return nil, err
			}
			*to = int(max(-1, min(i, 1<<30)))
		}
	}
	out, err := yaml.Dump(v, d)
	if err != nil {
		return nil, err
	}
	if cut, ok := bytes.CutSuffix(out, []byte("\n...\n")); ok {
		return string(cut), nil
	}
	return string(bytes.TrimSuffix(out, []byte("\n"))), nil
}
