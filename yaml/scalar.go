package yaml

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

var errForm = errors.New("not in the form of its tag")

// scalar returns the value of a node whose tag is a scalar's.
func scalar(n *node) (any, error) {
	read, ok := reader(n.tag)
	if !ok {
		return nil, fault(n.mark, "could not determine a constructor for the tag %s",
			data.Repr(n.tag))
	}
	if n.kind != scalarKind {
		return nil, fault(n.mark, "expected a scalar node, but found %s", n.kind)
	}
	v, err := read(n.value)
	if errors.Is(err, errForm) {
		return nil, fault(n.mark, "cannot read %s as %s", data.Repr(n.value),
			strings.TrimPrefix(n.tag, tagPrefix))
	}
	if err != nil {
		return nil, fault(n.mark, "%v", err)
	}
	return v, nil
}

func reader(tag string) (func(string) (any, error), bool) {
	switch tag {
	case nullTag:
		return func(string) (any, error) { return nil, nil }, true
	case strTag, timestampTag, unicodeTag: // dates stay text in Salt
		return func(s string) (any, error) { return s, nil }, true
	case boolTag:
		return readBool, true
	case intTag:
		return readInt, true
	case floatTag:
		return readFloat, true
	case binaryTag:
		return readBinary, true
	}
	return nil, false
}

func readBool(s string) (any, error) {
	switch strings.ToLower(s) {
	case "yes", "true", "on":
		return true, nil
	case "no", "false", "off":
		return false, nil
	}
	return nil, errForm
}

// readInt reads PyYAML's integers after removing leading zeros as Salt does: 0644 is 644, but -010
// is -8.
func readInt(s string) (any, error) {
	s = dropZeros(s)
	s = strings.TrimSpace(strings.ReplaceAll(s, "_", ""))
	digits, _ := cutSign(s)
	negative := strings.HasPrefix(s, "-")
	if len(digits) > maxDigits {
		return nil, errForm
	}
	var n *big.Int
	var ok bool
	switch {
	case digits == "":
		return nil, errForm
	case strings.HasPrefix(digits, "0b"):
		n, ok = unsigned(digits[2:], 2)
	case strings.HasPrefix(digits, "0x"):
		n, ok = unsigned(digits[2:], 16)
	case digits[0] == '0' && digits != "0":
		n, ok = unsigned(digits, 8)
	case strings.Contains(digits, ":"):
		n, ok = sixties(digits)
	default:
		n, ok = unsigned(digits, 10)
	}
	if !ok {
		return nil, errForm
	}
	if negative {
		n.Neg(n)
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

// maxDigits is Python's own limit for the text of an integer (sys.set_int_max_str_digits).
const maxDigits = 4300

func dropZeros(s string) string {
	if s == "0" || !strings.HasPrefix(s, "0") || strings.HasPrefix(s, "0b") ||
		strings.HasPrefix(s, "0x") {
		return s
	}
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}

func unsigned(s string, base int) (*big.Int, bool) {
	if s == "" || s[0] == '-' || s[0] == '+' {
		return nil, false
	}
	return new(big.Int).SetString(s, base)
}

func sixties(s string) (*big.Int, bool) {
	sum, sixty := new(big.Int), big.NewInt(60)
	for part := range strings.SplitSeq(s, ":") {
		n, ok := unsigned(part, 10)
		if !ok {
			return nil, false
		}
		sum.Add(sum.Mul(sum, sixty), n)
	}
	return sum, true
}

func readFloat(s string) (any, error) {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	digits, _ := cutSign(s)
	sign := 1.0
	if strings.HasPrefix(s, "-") {
		sign = -1
	}
	switch digits {
	case ".inf":
		return math.Inf(int(sign)), nil
	case ".nan":
		return math.NaN(), nil
	}
	if !strings.Contains(digits, ":") {
		f, err := parseFloat(digits)
		return sign * f, err
	}
	parts := strings.Split(digits, ":")
	sum, base := 0.0, 1.0
	for i := len(parts) - 1; i >= 0; i-- {
		f, err := parseFloat(parts[i])
		if err != nil {
			return nil, err
		}
		sum += f * base
		base *= 60
	}
	return sign * sum, nil
}

func parseFloat(s string) (float64, error) {
	if strings.ContainsAny(s, "xp_-+") && !strings.ContainsAny(s, "e") {
		return 0, errForm
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errForm
	}
	return f, nil // out of range it is infinite, as in Python
}

// readBinary reads base64 as Python's decodebytes does: other characters are ignored.
func readBinary(s string) (any, error) {
	digits := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 0x80:
			return nil, fmt.Errorf("failed to convert base64 data into ascii: a character is not ascii")
		case c == '=' && len(digits)%4 >= 2:
			return decode(digits)
		case isBase64(c):
			digits = append(digits, c)
		}
	}
	if len(digits)%4 != 0 {
		return nil, fmt.Errorf("failed to decode base64 data: Incorrect padding")
	}
	return decode(digits)
}

func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/'
}

func decode(digits []byte) (any, error) {
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(digits)))
	n, err := base64.RawStdEncoding.Decode(out, digits)
	if err != nil {
		return nil, fmt.Errorf("failed to decode base64 data: %w", err)
	}
	return out[:n], nil
}
