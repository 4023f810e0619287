// Package plist writes and reads Apple's property lists, as XML and as bplist00: the bytes and
// values of plistlib of Python 3.11, which Salt's salt/serializers/plist.py calls.
//
// It writes these values of package data: text, truth values, numbers from -2⁶³ to 2⁶⁴-1, floats,
// bytes, dates, lists and dictionaries with text as keys; None only in the binary form. Error texts
// are those of plistlib, except for those of its XML parser. A document type declaration is
// ignored, but an entity declaration is an error. Read rejects values that Python's objects can be
// but values here cannot: lists that contain themselves, UID, and values of more than a million
// parts or five hundred levels.
package plist

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Options are those of plistlib.dumps.
type Options struct {
	Binary   bool // fmt=FMT_BINARY
	Unsorted bool // sort_keys=False: dictionaries keep their order
	SkipKeys bool // skipkeys: entries whose key is not text are left out
}

// Limits of values.
const (
	maxDepth = 500
	maxParts = 1 << 20
)

var (
	errDepth = errors.New("maximum recursion depth exceeded")
	errParts = fmt.Errorf("the property list has more than %d values", maxParts)
	errKeys  = errors.New("keys must be strings")
)

// Write returns v as a property list.
func Write(v any, o Options) ([]byte, error) {
	if o.Binary {
		return writeBinary(v, o)
	}
	return writeXML(v, o)
}

// Read returns the value of a property list of either form.
func Read(text []byte) (any, error) {
	switch {
	case isXML(text):
		return readXML(text)
	case len(text) >= len(magic) && string(text[:len(magic)]) == magic:
		return readBinary(text)
	}
	return nil, errInvalid
}

// errInvalid is plistlib.InvalidFileException.
var errInvalid = errors.New("Invalid file") //nolint:staticcheck // Python's text

// entry is one entry of a dictionary.
type entry struct {
	key   string
	value any
	wrong bool // the key is not text
}

// entries returns the entries of a dictionary in the order in which they are written. A key that is
// not text causes an error when it is reached.
func entries(m *data.Map, o Options) ([]entry, error) {
	var all []entry
	var before any
	first := true
	for k, v := range m.All() {
		if !o.Unsorted && !first {
			if err := sortable(k, before); err != nil {
				return nil, err
			}
		}
		before, first = k, false
		if text, ok := k.(string); ok {
			all = append(all, entry{key: text, value: v})
		} else if !o.SkipKeys {
			all = append(all, entry{wrong: true})
		}
	}
	if !o.Unsorted {
		slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	}
	return all, nil
}

// sortable returns Python's error for keys that cannot be sorted: text mixed with other values.
func sortable(a, b any) error {
	_, x := a.(string)
	_, y := b.(string)
	if x == y {
		return nil
	}
	return fmt.Errorf("'<' not supported between instances of '%s' and '%s'", loader.TypeName(a),
		loader.TypeName(b))
}

// whole returns an integer that fits, or Python's OverflowError.
func whole(v any) (*big.Int, error) {
	var n *big.Int
	switch v := v.(type) {
	case int64:
		return big.NewInt(v), nil
	case int:
		return big.NewInt(int64(v)), nil
	case *big.Int:
		n = v
	}
	if n.Sign() < 0 && !n.IsInt64() || n.Sign() >= 0 && !n.IsUint64() {
		return nil, errors.New(n.String())
	}
	return n, nil
}

// number returns an integer as a value of package data.
func number(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}
