package engines

import (
	"fmt"

	"github.com/brineproject/brine/data"
)

// Text returns an option that is text. Without it, it returns otherwise; an empty otherwise means
// that the option is needed.
func Text(options *data.Map, name, otherwise string) (string, error) {
	switch v := options.Value(name).(type) {
	case nil:
		if otherwise == "" {
			return "", fmt.Errorf("the option %s is missing", name)
		}
		return otherwise, nil
	case string:
		if v != "" {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s: expected a text, not %s", name, data.Repr(options.Value(name)))
}

// Port returns an option that is the number of a port.
func Port(options *data.Map, name string, otherwise int64) (int, error) {
	v, ok := options.Get(name)
	if !ok || v == nil {
		return int(otherwise), nil
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%s: expected the number of a port, not %s", name, data.Repr(v))
	}
	return int(n), nil
}

// Texts returns an option that is a list of texts, nil without it.
func Texts(options *data.Map, name string) ([]string, error) {
	v, ok := options.Get(name)
	if !ok || v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: expected a list, not %s", name, data.Repr(v))
	}
	return data.Texts(list), nil
}
