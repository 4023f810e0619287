package serializers

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// readJSON parses a document; options have no effect on texts.
func readJSON(v any, _ *options) (any, error) {
	text, err := textOf(v)
	if err != nil {
		return nil, err
	}
	return pyjson.Load(text)
}

// writeJSON writes as json.dumps does, with ensure_ascii off by default (salt/utils/json.py).
func writeJSON(v any, o *options) (any, error) {
	w := pyjson.Options{Comma: ", ", Colon: ": ", ASCII: o.truth("ensure_ascii", false),
		SkipKeys: o.truth("skipkeys", false),
		NoNaN:    !o.truth("allow_nan", true)}
	if o.truth("sort_keys", false) {
		w.Sort = func(keys []any) ([]any, error) { return keys, sortKeys(keys) }
	}
	if indent := o.get("indent", nil); indent != nil {
		w.Lines, w.Comma, w.Step = true, ",", indentOf(indent)
	}
	switch pair := o.get("separators", nil).(type) {
	case nil:
	case []any:
		if len(pair) != 2 {
			return nil, fmt.Errorf("not enough values to unpack (expected 2, got %d)", len(pair))
		}
		w.Comma, w.Colon = data.Str(pair[0]), data.Str(pair[1])
	case data.Tuple:
		if len(pair) != 2 {
			return nil, fmt.Errorf("not enough values to unpack (expected 2, got %d)", len(pair))
		}
		w.Comma, w.Colon = data.Str(pair[0]), data.Str(pair[1])
	}
	text, err := pyjson.Append(nil, v, w)
	var e *pyjson.Error
	switch {
	case errors.As(err, &e) && e.Reason == pyjson.BadType:
		return "", fmt.Errorf("Object of type %s is not JSON serializable", loader.TypeName(e.Value)) //nolint:staticcheck // Python's text
	case errors.As(err, &e) && e.Reason == pyjson.BadKey:
		return "", fmt.Errorf("keys must be str, int, float, bool or None, not %s",
			loader.TypeName(e.Value))
	case err != nil:
		return "", err
	}
	return string(text), nil
}

// maxIndent limits the indentation per level, because it adds to every line.
const maxIndent = 1000

func indentOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	n, _ := loader.Int(v)
	return strings.Repeat(" ", int(max(0, min(n, maxIndent))))
}

// sortKeys sorts keys as Python does; texts and numbers cannot be mixed.
func sortKeys(keys []any) error {
	var bad error
	slices.SortStableFunc(keys, func(a, b any) int {
		x, isText := a.(string)
		y, areTexts := b.(string)
		if isText && areTexts {
			return cmp.Compare(x, y)
		}
		m, mErr := number(a)
		n, nErr := number(b)
		if mErr != nil || nErr != nil {
			bad = fmt.Errorf("'<' not supported between instances of '%s' and '%s'",
				loader.TypeName(a), loader.TypeName(b))
		}
		return cmp.Compare(m, n)
	})
	return bad
}

// number returns a key that is a number or a truth value.
func number(v any) (float64, error) {
	switch v.(type) {
	case bool, int64, int, float64, *big.Int:
		return loader.Float(v)
	}
	return 0, errors.New("not a number")
}
