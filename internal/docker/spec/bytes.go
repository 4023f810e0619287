package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// sizeOf reads a number of bytes, or a text with a unit: b, k, m, g, t.
func sizeOf(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		if isInt(v) {
			return v, nil
		}
		if _, ok := v.(float64); ok {
			return v, nil
		}
		return nil, fmt.Errorf("object of type '%s' has no len()", data.Str(v))
	}
	if s == "" {
		return int64(0), nil
	}
	if n := len(s); n > 1 && letter(s[n-2]) && (s[n-1] == 'b' || s[n-1] == 'B') {
		s = s[:n-1]
	}
	digits, unit := s[:len(s)-1], strings.ToLower(s[len(s)-1:])
	if unit >= "0" && unit <= "9" {
		digits, unit = s, "b"
	}
	shift, ok := map[string]uint{"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}[unit]
	if !ok {
		return nil, refused("The specified value for memory (%s) should specify the units. "+
			"The postfix should be one of the `b` `k` `m` `g` characters", s)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil {
		return nil, refused("Failed converting the string value for memory (%s) to an integer.", digits)
	}
	return int64(n * float64(uint64(1)<<shift)), nil
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
