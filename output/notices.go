package output

import (
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// noReturn prints the minions that did not return (salt/output/no_return.py): text, and maps of
// maps or text.
type noReturn struct{ colours }

func newNoReturn(o Options) Outputter { return noReturn{newColours(o)} }

func (n noReturn) Format(v any) (string, error) {
	var b strings.Builder
	err := n.write(&b, v, "")
	return b.String(), err
}

func (n noReturn) write(b *strings.Builder, v any, indent string) error {
	switch v := v.(type) {
	case string:
		for line := range strings.SplitSeq(v, "\n") {
			fmt.Fprintf(b, "%s%s%s%s\n", n.red, indent, line, n.normal)
		}
	case *data.Map:
		keys, ok := sortedKeys(v)
		if !ok {
			return fmt.Errorf("keys: %w", ErrValue)
		}
		for _, k := range keys {
			fmt.Fprintf(b, "%s%s%s%s:\n", n.cyan, indent, data.Str(k), n.normal)
			if err := n.write(b, v.Value(k), indent+"    "); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage prints stages of an orchestration (salt/output/overstatestage.py): a list of maps of maps.
type stage struct{ colours }

func newStage(o Options) Outputter { return stage{newColours(o)} }

func (s stage) Format(v any) (string, error) {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case data.Tuple:
		list = v
	case *data.Map: // Salt iterates over the keys of a map, and a key cannot be a map
		list = v.Keys()
	case string:
		if v != "" {
			list = []any{v}
		}
	default:
		return "", fmt.Errorf("stages in %T: %w", v, ErrValue)
	}
	var b strings.Builder
	for _, e := range list {
		if err := s.write(&b, e); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (s stage) write(b *strings.Builder, v any) error {
	m, ok := v.(*data.Map)
	if !ok {
		return fmt.Errorf("stage in %T: %w", v, ErrValue)
	}
	for name, v := range m.All() {
		fmt.Fprintf(b, "%s%s: %s\n", s.lightBlue, data.Str(name), s.normal)
		parts, ok := v.(*data.Map)
		if !ok {
			return fmt.Errorf("stage in %T: %w", v, ErrValue)
		}
		keys, ok := sortedKeys(parts)
		if !ok {
			return fmt.Errorf("parts of a stage: %w", ErrValue)
		}
		for _, k := range keys {
			fmt.Fprintf(b, "    %s%s: %s%s\n", s.lightBlue, data.Str(k),
				data.Str(parts.Value(k)), s.normal)
		}
	}
	return nil
}
