//go:build !small

package ini

import (
	"strings"

	"golang.org/x/text/encoding/charmap"

	"github.com/brineproject/brine/loader"
)

// codepage returns a charset of one byte a character, by Python's name without hyphens, or nil.
func codepage(name string) charset {
	for _, prefix := range []string{"cp", "windows", "ibm"} {
		name = strings.TrimPrefix(name, prefix)
	}
	pages := map[string]*charmap.Charmap{
		"437": charmap.CodePage437, "850": charmap.CodePage850, "852": charmap.CodePage852,
		"866": charmap.CodePage866, "1250": charmap.Windows1250, "1251": charmap.Windows1251,
		"1252": charmap.Windows1252, "1253": charmap.Windows1253, "1254": charmap.Windows1254,
		"1257": charmap.Windows1257, "iso88592": charmap.ISO8859_2, "iso88595": charmap.ISO8859_5,
		"iso88597": charmap.ISO8859_7, "iso88599": charmap.ISO8859_9,
		"iso885915": charmap.ISO8859_15, "koi8r": charmap.KOI8R,
	}
	if page := pages[name]; page != nil {
		return table{name, page}
	}
	return nil
}

// table is a charset of package charmap.
type table struct {
	name string
	page *charmap.Charmap
}

func (t table) decode(raw []byte) (string, error) {
	var b strings.Builder
	for i, c := range raw {
		r := t.page.DecodeByte(c)
		if r == '\ufffd' {
			return "", loader.Exception("UnicodeDecodeError", "'charmap' codec can't decode byte "+
				"0x%02x in position %d: character maps to <undefined>", c, i)
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

func (t table) encode(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i, r := range []rune(text) {
		c, ok := t.page.EncodeRune(r)
		if !ok {
			return nil, loader.Exception("UnicodeEncodeError", "'charmap' codec can't encode "+
				"character %U in position %d: character maps to <undefined>", r, i)
		}
		out = append(out, c)
	}
	return out, nil
}
