package eventbus

import (
	"bytes"
	"math/big"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// trimmed replaces values that are too large.
const trimmed = "VALUE_TRIMMED"

// pythonList is the size of an empty Python list.
const pythonList = 56

// pythonBytes is the size of an empty Python bytes object.
const pythonBytes = 33

// Trimmed reports whether v, a value of an event's data, contains a value that was replaced because it
// was too large. Like the replacement it walks maps only. It cannot tell a text of the same letters.
func Trimmed(v any) bool {
	m, ok := v.(*data.Map)
	if !ok {
		return v == trimmed
	}
	for _, inner := range m.All() {
		if Trimmed(inner) {
			return true
		}
	}
	return false
}

// MayBeTrimmed is Trimmed for an encoded value. It is true too if the letters stand somewhere else in it.
func MayBeTrimmed(v data.Raw) bool { return bytes.Contains(v, []byte(trimmed)) }

// trim shortens the data of an event until it is smaller than max bytes. It replaces values larger
// than half of max, then those larger than 40 %, and so on down to 10 %. Maps are walked; lists
// count by length and are replaced as a whole. Sizes are those of Python objects
// (salt/utils/dicttrim.py, trim_dict).
func trim(raw []byte, max int) ([]byte, error) {
	v, err := payload.UnmarshalText(raw, payload.Limits{Size: len(raw)})
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, ErrBadEvent
	}
	for percent := 50; ; percent -= 10 {
		trimMap(m, float64(max)*float64(percent)/100)
		if raw, err = payload.MarshalBin(m); err != nil {
			return nil, err
		}
		if len(raw)+pythonBytes < max || percent == 10 {
			return raw, nil
		}
	}
}

// shorten does the first step of trim on an encoded map, as far as possible without decoding: it
// replaces values that are certainly larger than limit. This avoids copying large values. An
// unreadable map is returned unchanged.
func shorten(raw data.Raw, limit float64) data.Raw {
	fields, err := payload.ParseFields(raw, payload.Limits{Size: len(raw)})
	if err != nil {
		return raw
	}
	changed := false
	for i := range fields {
		value := fields[i].Value
		if float64(len(value)) <= limit {
			continue
		}
		switch {
		case isMap(value):
			value = shorten(value, limit)
		case surelyLarge(value, limit):
			value = append(data.Raw{0xa0 | byte(len(trimmed))}, trimmed...)
		}
		changed = changed || len(value) != len(fields[i].Value)
		fields[i].Value = value
	}
	if !changed {
		return raw
	}
	return fields.AppendBinTo(nil)
}

// surelyLarge reports whether pythonSize of value certainly exceeds limit. A Python string takes at
// least half of its UTF-8 size.
func surelyLarge(value data.Raw, limit float64) bool {
	if s, ok := payload.Bytes(value); ok {
		return float64(len(s)) > 2*limit
	}
	n, ok := payload.ListLen(value)
	return ok && float64(pythonList+8*n) > limit
}

func trimMap(m *data.Map, limit float64) {
	for k, v := range m.All() {
		if inner, ok := v.(*data.Map); ok {
			trimMap(inner, limit)
		} else if float64(pythonSize(v)) > limit {
			m.Set(k, trimmed)
		}
	}
}

// pythonSize returns sys.getsizeof(v) in CPython 3.11 on 64-bit systems.
func pythonSize(v any) int {
	switch v := v.(type) {
	case nil:
		return 16
	case bool:
		if v {
			return 28
		}
		return 24
	case string:
		return pythonTextSize(v)
	case []byte:
		return pythonBytes + len(v)
	case []any:
		return pythonList + 8*len(v)
	case data.Tuple:
		return 40 + 8*len(v)
	case int64:
		return pythonIntSize(big.NewInt(v))
	case *big.Int:
		return pythonIntSize(v)
	case float64:
		return 24
	case time.Time:
		return 48
	}
	return 48
}

// pythonIntSize returns the size of a Python int, which stores 30 bits per digit.
func pythonIntSize(n *big.Int) int { return 24 + 4*((n.BitLen()+29)/30) }

// pythonTextSize returns the size of a Python string. It stores 1, 2 or 4 bytes per character,
// depending on the widest one.
func pythonTextSize(s string) int {
	var widest rune
	for _, r := range s {
		widest = max(widest, r)
	}
	n := utf8.RuneCountInString(s)
	switch {
	case widest < 0x80:
		return 49 + n
	case widest < 0x100:
		return 73 + n
	case widest < 0x10000:
		return 74 + 2*n
	}
	return 76 + 4*n
}
