package grains

import (
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// storable returns a key as a string; keys of other types can be read but not set.
func storable(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return key, nil
	case int64, bool:
		return "", loader.TypeError("argument of type '%s' is not iterable", loader.TypeName(key))
	}
	return "", loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
}

// replaceIn replaces the value that data.Lookup finds under part in a list.
func replaceIn(list []any, part string, value any) {
	var key any = part
	n, err := strconv.Atoi(strings.TrimSpace(part))
	if err == nil {
		key = int64(n)
	}
	for _, e := range list {
		if m, ok := e.(*data.Map); ok && m.Has(key) {
			m.Set(key, value)
			return
		}
	}
	if n < 0 {
		n += len(list)
	}
	if err == nil && n >= 0 && n < len(list) {
		list[n] = value
	}
}
