package loader

import (
	"errors"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

var mapType = reflect.TypeFor[*data.Map]()

// convertible reports whether convert can set a field of type t.
func convertible(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.String || t.Elem().Kind() == reflect.Interface
	case reflect.Pointer:
		return t == mapType || t.Elem().Kind() < reflect.Array && convertible(t.Elem()) ||
			t.Elem().Kind() == reflect.String
	}
	return false
}

// convert sets field to v by the rules in the package comment. Its errors are those of Python's own
// conversions.
func convert(field reflect.Value, v any) error {
	if field.Kind() == reflect.Interface {
		if v != nil {
			field.Set(reflect.ValueOf(v))
		}
		return nil
	}
	if v == nil {
		return nil
	}
	switch field.Kind() {
	case reflect.Pointer:
		return convertPointer(field, v)
	case reflect.Slice:
		convertList(field, v)
		return nil
	}
	return convertScalar(field, v)
}

func convertPointer(field reflect.Value, v any) error {
	if field.Type() == mapType {
		m, ok := v.(*data.Map)
		if !ok {
			return TypeError("expected a dictionary, not %s", TypeName(v))
		}
		field.Set(reflect.ValueOf(m))
		return nil
	}
	field.Set(reflect.New(field.Type().Elem()))
	return convert(field.Elem(), v)
}

func convertList(field reflect.Value, v any) {
	var list []any
	text := field.Type().Elem().Kind() == reflect.String
	switch v := v.(type) {
	case []any:
		list = v
	case data.Tuple:
		list = v
	case string:
		if text {
			field.Set(reflect.ValueOf(SplitInput(v)))
			return
		}
		list = []any{v}
	default:
		list = []any{v}
	}
	if !text {
		field.Set(reflect.ValueOf(list))
		return
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = data.Str(v)
	}
	field.Set(reflect.ValueOf(texts))
}

// SplitInput splits a string at commas and trims the parts, like split_input of salt/utils/args.py.
func SplitInput(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// SplitList returns the elements of a list or tuple as strings, nil for None, and the
// comma-separated parts of any other value's string form, like split_input of salt/utils/args.py.
func SplitList(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return data.Texts(v)
	case data.Tuple:
		return data.Texts(v)
	}
	return SplitInput(data.Str(v))
}

func convertScalar(field reflect.Value, v any) error {
	switch field.Kind() {
	case reflect.String:
		field.SetString(data.Str(v))
	case reflect.Bool:
		field.SetBool(data.Truth(v))
	case reflect.Float64:
		f, err := Float(v)
		field.SetFloat(f)
		return err
	default:
		n, err := Int(v)
		if err == nil && field.OverflowInt(n) {
			err = Exception("OverflowError", "Python int too large to convert to C long")
		}
		if err == nil {
			field.SetInt(n)
		}
		return err
	}
	return nil
}

// Int converts v like Python's int(v), with Python's errors. Numbers beyond 64 bits are rejected.
func Int(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case float64:
		return floatToInt(v)
	case string:
		return textToInt(v)
	case *big.Int:
		return 0, Exception("OverflowError", "Python int too large to convert to C long")
	}
	return 0, TypeError("int() argument must be a string, a bytes-like object or a real number, not '%s'", TypeName(v))
}

func floatToInt(f float64) (int64, error) {
	switch {
	case math.IsNaN(f):
		return 0, Exception("ValueError", "cannot convert float NaN to integer")
	case math.IsInf(f, 0):
		return 0, Exception("OverflowError", "cannot convert float infinity to integer")
	case f >= math.MaxInt64 || f <= math.MinInt64:
		return 0, Exception("OverflowError", "Python int too large to convert to C long")
	}
	return int64(f), nil
}

func textToInt(s string) (int64, error) {
	n, err := strconv.ParseInt(joinDigits(pyStrip(s)), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, Exception("OverflowError", "Python int too large to convert to C long")
	}
	if err != nil {
		return 0, Exception("ValueError", "invalid literal for int() with base 10: %s",
			data.Repr(s))
	}
	return n, nil
}

var grouped = regexp.MustCompile(`([0-9])_([0-9])`)

// joinDigits removes underscores between digits, which Python allows in numbers. Other underscores
// stay and make the number invalid.
func joinDigits(s string) string {
	return grouped.ReplaceAllString(grouped.ReplaceAllString(s, "$1$2"), "$1$2")
}

// Float converts v like Python's float(v), with Python's errors.
func Float(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, nil
	case string:
		f, err := strconv.ParseFloat(joinDigits(pyStrip(v)), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(v, "xXpP") {
			return 0, Exception("ValueError", "could not convert string to float: %s", data.Repr(v))
		}
		return f, nil
	case int, int64, bool:
		n, err := Int(v)
		return float64(n), err
	}
	return 0, TypeError("float() argument must be a string or a real number, not '%s'", TypeName(v))
}

// TypeName returns the name of v's type in Python: str, int, NoneType, dict …
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int, int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []byte, data.Raw:
		return "bytes"
	case []any:
		return "list"
	case data.Tuple:
		return "tuple"
	case *data.Map:
		return "dict"
	}
	return "object"
}
