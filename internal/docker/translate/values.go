package translate

import (
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// splitTrim splits a text and trims its parts. n is the number of parts at most, or -1.
func splitTrim(text, separator string, n int) []string {
	parts := strings.SplitN(text, separator, n)
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
	}
	return parts
}

// whole returns v if it is a whole number; Python's truth values are.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// number converts v as Python's int() does.
func number(v any) (int64, bool) {
	if n, ok := whole(v); ok {
		return n, true
	}
	if v == nil {
		return 0, false
	}
	n, err := loader.Int(v)
	return n, err == nil
}

func text(v any, _ call) (any, error) { return data.Str(v), nil }

func integer(v any, _ call) (any, error) {
	if _, ok := whole(v); ok {
		return v, nil
	}
	n, ok := number(v)
	if !ok {
		return nil, invalidf("'%s' is not an integer", data.Str(v))
	}
	return n, nil
}

func truth(v any, _ call) (any, error) { return data.Truth(v), nil }

func dictionary(v any, _ call) (any, error) {
	if _, ok := v.(*data.Map); !ok {
		return nil, invalidf("'%s' is not a dictionary", data.Str(v))
	}
	return v, nil
}

// command leaves a text as it is and makes texts of a list's elements.
func command(v any, _ call) (any, error) {
	if list, ok := v.([]any); ok {
		return data.Values(data.Texts(list)), nil
	}
	return data.Str(v), nil
}

// size returns a number of bytes, or a text with a unit.
func size(v any, _ call) (any, error) {
	if n, ok := number(v); ok {
		return n, nil
	}
	return data.Str(v), nil
}

// words returns a list, or the parts of a text with commas.
func words(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return splitTrim(data.Str(v), ",", -1)
	}
	return data.Texts(list)
}

func list(v any, _ call) (any, error) { return data.Values(words(v)), nil }

// records returns a dictionary with these keys for each word, whose parts colons separate. fill is the
// value of the keys that have none; without fill all must be there.
func records(v any, keys []string, fill ...string) ([]*data.Map, error) {
	var all []*data.Map
	for _, word := range words(v) {
		parts := splitTrim(word, ":", -1)
		if len(parts) > len(keys) || len(parts) < len(keys) && fill == nil {
			expected := strconv.Itoa(len(keys))
			if fill != nil {
				expected = "up to " + expected
			}
			return nil, invalidf("'%s' contains %d value(s) (expected %s)", word, len(parts), expected)
		}
		m := data.NewMap()
		for i, key := range keys {
			if i < len(parts) {
				m.Set(key, parts[i])
			} else {
				m.Set(key, fill[0])
			}
		}
		all = append(all, m)
	}
	return all, nil
}

func values(maps []*data.Map) []any {
	all := make([]any, len(maps))
	for i, m := range maps {
		all[i] = m
	}
	return all
}

// rates translates limits of devices. Only those in operations must be numbers; others may have units.
func rates(operations bool) func(any, call) (any, error) {
	return func(v any, _ call) (any, error) {
		all, err := records(v, []string{"Path", "Rate"})
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if !path.IsAbs(m.Text("Path")) {
				return nil, invalidf("Path '%s' is not absolute", m.Text("Path"))
			}
			if n, ok := number(m.Value("Rate")); ok {
				m.Set("Rate", n)
			} else if operations {
				return nil, invalidf("Rate '%s' for path '%s' is non-numeric", m.Text("Rate"), m.Text("Path"))
			}
		}
		return values(all), nil
	}
}

// keyValues translates a dictionary, or words of a key and a value each.
func keyValues(delimiter string) func(any, call) (any, error) {
	return func(v any, _ call) (any, error) {
		if _, ok := v.(*data.Map); ok {
			return v, nil
		}
		m := data.NewMap()
		for _, word := range words(v) {
			parts := splitTrim(word, delimiter, 2)
			if len(parts) != 2 {
				return nil, invalidf("'%s' is not a key%svalue pair", word, delimiter)
			}
			m.Set(parts[0], parts[1])
		}
		return m, nil
	}
}

func labels(v any, _ call) (any, error) {
	if _, ok := v.(*data.Map); ok {
		return v, nil
	}
	items, ok := v.([]any)
	if line, isText := v.(string); isText {
		items, ok = data.Values(splitTrim(line, ",", -1)), true
	}
	if !ok {
		return nil, errOther
	}
	m := data.NewMap()
	for _, item := range items {
		switch item := item.(type) {
		case *data.Map:
			if item.Len() != 1 {
				return nil, invalidf("Invalid label(s)")
			}
			k, v := item.At(0)
			m.Set(data.Str(k), data.Str(v))
		case string:
			parts := splitTrim(item, "=", 2)
			if len(parts) == 1 {
				m.Set(item, "")
			} else {
				m.Set(parts[0], parts[1])
			}
		default:
			return nil, errOther
		}
	}
	return m, nil
}

func checkIP(v any) error {
	s, ok := v.(string)
	if addr, err := netip.ParseAddr(s); !ok || err != nil || addr.Is4In6() && strings.Count(s, ".") != 3 && strings.Contains(s, ".") {
		return invalidf("'%s' is not a valid IP address", data.Str(v))
	}
	return nil
}

func checkSubnet(s string) error {
	if !Subnet(s) {
		return invalidf("'%s' is not a valid subnet", s)
	}
	return nil
}

// Subnet reports whether a text is the address of a network: with a prefix or a mask, and without bits of
// a host.
func Subnet(s string) bool {
	host, mask, ok := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(host)
	if !ok || err != nil || addr.Zone() != "" {
		return false
	}
	bits, ok := prefixBits(mask, addr.Is4())
	if !ok || bits > addr.BitLen() {
		return false
	}
	prefix, err := addr.Prefix(bits)
	return err == nil && prefix.Addr() == addr
}

// prefixBits returns the length of a prefix, or that of a mask of IPv4.
func prefixBits(mask string, four bool) (int, bool) {
	if n, err := strconv.ParseUint(mask, 10, 8); err == nil {
		return int(n), true
	}
	addr, err := netip.ParseAddr(mask)
	if err != nil || !four || !addr.Is4() {
		return 0, false
	}
	b := addr.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	ones := 0
	for n&(1<<31) != 0 {
		n <<= 1
		ones++
	}
	return ones, n == 0
}
