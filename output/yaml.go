package output

import (
	"fmt"

	"github.com/brineproject/brine/yaml"
)

// newYAML returns the outputter yaml (salt/output/yaml_out.py).
func newYAML(o Options) Outputter {
	return formatter(func(v any) (string, error) {
		d := yaml.DumpOptions{Flow: yaml.Block, SortKeys: !o.KeepOrder}
		switch o.Indent.(type) {
		case NoIndent:
		case int64, int:
			if d.Indent = columns(o.Indent); d.Indent < 0 {
				d.Flow, d.Indent = yaml.Always, 0
			}
		default:
			return "", fmt.Errorf("indent by %v: %w", o.Indent, ErrValue)
		}
		text, err := yaml.Dump(v, d)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrValue, err)
		}
		return string(text), nil
	})
}
