package output

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// newJSON returns the outputter json: Python's json.dumps with ensure_ascii off
// (salt/output/json_out.py).
func newJSON(o Options) Outputter {
	return formatter(func(v any) (string, error) {
		w := pyjson.Options{Comma: ", ", Colon: ": ", Other: jsonOther}
		if o.Indent == "pretty" {
			w.Sort = jsonOrder
		}
		if step, ok := jsonStep(o.Indent); ok {
			w.Comma, w.Lines, w.Step = ",", true, step
		}
		text, err := pyjson.Append(nil, v, w)
		if err != nil {
			return "{}", nil // Salt's output for a key that is invalid in JSON
		}
		return string(text), nil
	})
}

// JSON returns v on one line as salt.utils.json.dumps and the outputter json write it. The error
// wraps ErrKey for a key that is invalid in JSON; bytes become the text of their Python form.
func JSON(v any) (string, error) {
	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": ", Other: jsonOther})
	var e *pyjson.Error
	switch {
	case errors.As(err, &e) && e.Reason == pyjson.BadKey:
		return "", fmt.Errorf("write JSON: %w", ErrKey)
	case err != nil:
		return "", fmt.Errorf("write JSON: %w", err)
	}
	return string(text), nil
}

// jsonOther replaces a value that JSON does not have.
func jsonOther(v any) (any, error) { return data.Repr(v), nil }

func jsonOrder(keys []any) ([]any, error) {
	if keys, ok := sorted(keys); ok {
		return keys, nil
	}
	return nil, ErrKey
}

// jsonStep returns the indentation of a level; ok is false if everything goes on one line.
func jsonStep(indent any) (step string, ok bool) {
	switch n := indent.(type) {
	case NoIndent:
		return "    ", true
	case string:
		if n == "pretty" {
			return "    ", true
		}
		return n, true
	case bool:
		if n {
			return " ", true
		}
		return "", true
	}
	if n := columns(indent); n >= 0 {
		return strings.Repeat(" ", n), true
	}
	return "", false
}

// maxIndent limits the indentation that an operator can set, because it adds to every line.
const maxIndent = 1000

// columns returns a number of columns, at most maxIndent; -1 if v is below 0 or not a number.
func columns(v any) int {
	switch n := v.(type) {
	case int64:
		return int(max(-1, min(n, maxIndent)))
	case int:
		return max(-1, min(n, maxIndent))
	}
	return -1
}
