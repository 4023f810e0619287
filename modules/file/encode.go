package file

import (
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// encoded returns the bytes of a content in an encoding, by its Python name. handling says what to
// do with characters that the encoding lacks: strict fails, ignore drops them, replace writes a
// question mark.
func encoded(contents, name any, handling string) ([]byte, error) {
	if body, ok := contents.([]byte); ok {
		return body, nil
	}
	text := data.Str(contents)
	if !data.Truth(name) {
		return []byte(text), nil
	}
	var set encoding.Encoding
	switch strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(data.Str(name))) {
	case "utf8", "u8", "utf":
		return []byte(text), nil
	case "utf8sig":
		return []byte("\ufeff" + text), nil
	case "ascii", "usascii", "646":
		return narrowed(text, 0x7f, "ascii", handling)
	case "latin1", "iso88591", "latin", "l1", "8859", "cp819":
		return narrowed(text, 0xff, "latin-1", handling)
	case "utf16":
		set = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "utf16le":
		set = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf16be":
		set = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "cp1252", "windows1252", "1252":
		set = charmap.Windows1252
	case "iso885915", "latin9", "l9":
		set = charmap.ISO8859_15
	default:
		return nil, loader.Exception("LookupError", "unknown encoding: %s", data.Str(name))
	}
	body, err := set.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, loader.Exception("UnicodeEncodeError", "%w", err)
	}
	return body, nil
}

// narrowed encodes characters up to last as one byte each.
func narrowed(text string, last rune, name, handling string) ([]byte, error) {
	var out []byte
	for i, r := range []rune(text) {
		switch {
		case r <= last:
			out = append(out, byte(r))
		case handling == "ignore":
		case handling == "replace":
			out = append(out, '?')
		default:
			return nil, loader.Exception("UnicodeEncodeError",
				"'%s' codec can't encode character '%s' in position %d: ordinal not in range(%d)",
				name, asciiOf(r), i, last+1)
		}
	}
	return out, nil
}

// asciiOf formats a character like Python's codec errors: \xe9, \u20ac.
func asciiOf(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
