package eventbus

import (
	"math/big"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// trimmed replaces a value that is too large.
const trimmed = "VALUE_TRIMMED"

// pythonBytes is what a Python bytes object takes beside its content.
const pythonBytes = 33

// trim shortens the data of an event until it takes less than max bytes: values larger than half of max are
// replaced, then those larger than 40 %, down to 10 %. Maps are walked, lists count by their length and are
// replaced as a whole. Sizes are those of Python's objects (salt/utils/dicttrim.py, trim_dict).
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

func trimMap(m *data.Map, limit float64) {
	for k, v := range m.All() {
		if inner, ok := v.(*data.Map); ok {
			trimMap(inner, limit)
		} else if float64(pythonSize(v)) > limit {
			m.Set(k, trimmed)
		}
	}
}

// pythonSize is sys.getsizeof of CPython 3.11 on 64 bits.
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
		return 56 + 8*len(v)
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

// pythonIntSize counts digits of 30 bits.
func pythonIntSize(n *big.Int) int { return 24 + 4*((n.BitLen()+29)/30) }

// pythonTextSize: a text takes 1, 2 or 4 bytes a character, as its widest one needs.
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
