//go:build !small || formats

package serializers

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/serializers/plist"
)

// writePlist writes XML, or with fmt FMT_BINARY the binary form; any other fmt means XML
// (salt/serializers/plist.py).
func writePlist(v any, o *options) (any, error) {
	po := plist.Options{
		Binary: o.get("fmt", nil) == "FMT_BINARY", Unsorted: !o.truth("sort_keys", true),
		SkipKeys: o.truth("skipkeys", false),
	}
	out, err := plist.Write(v, po)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// readPlist reads both forms. plistlib's option fmt is a Python object, which no option of Salt can
// be.
func readPlist(text any, o *options) (any, error) {
	for k := range o.given.All() {
		switch {
		case k == "fmt" && o.given.Value("fmt") == nil:
		case k == "fmt":
			return nil, errors.New(data.Repr(o.given.Value("fmt"))) // KeyError
		case k == "dict_type":
			return nil, fmt.Errorf("'%s' object is not callable", loader.TypeName(o.given.Value(k)))
		default:
			return nil, fmt.Errorf("loads() got an unexpected keyword argument '%s'", data.Str(k))
		}
	}
	s, err := textOf(text)
	if err != nil {
		return nil, err
	}
	return plist.Read([]byte(s))
}
