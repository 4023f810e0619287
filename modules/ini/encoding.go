package ini

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A charset converts the content of a file to text and back. Its errors are Python's.
type charset interface {
	decode(raw []byte) (string, error)
	encode(text string) ([]byte, error)
}

// charsetOf returns the charset with one of Python's names. None is UTF-8.
func charsetOf(name any) (charset, error) {
	if name == nil {
		return utf8Text{}, nil
	}
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(data.Str(name)))
	switch plain {
	case "utf8", "u8", "utf", "cp65001":
		return utf8Text{}, nil
	case "utf8sig":
		return utf8Text{mark: true}, nil
	case "ascii", "usascii", "646":
		return narrow{"ascii", 0x80}, nil
	case "latin1", "latin", "l1", "iso88591", "8859", "cp819":
		return narrow{"latin-1", 0x100}, nil
	case "utf16", "u16":
		return wide16{order: binary.LittleEndian, mark: true}, nil
	case "utf16le":
		return wide16{order: binary.LittleEndian}, nil
	case "utf16be":
		return wide16{order: binary.BigEndian}, nil
	}
	if c := codepage(plain); c != nil {
		return c, nil
	}
	return nil, loader.Exception("LookupError", "unknown encoding: %s", data.Str(name))
}

// byteOrderMark begins files in Unicode.
const byteOrderMark = "\ufeff"

// utf8Text is UTF-8, with a byte order mark at its beginning if mark is set.
type utf8Text struct{ mark bool }

func (u utf8Text) decode(raw []byte) (string, error) {
	text, err := loader.Text(raw)
	if u.mark {
		text = strings.TrimPrefix(text, byteOrderMark)
	}
	return text, err
}

func (u utf8Text) encode(text string) ([]byte, error) {
	if u.mark {
		text = byteOrderMark + text
	}
	return []byte(text), nil
}

// narrow has the first characters of Unicode, one byte each.
type narrow struct {
	name string
	end  int // the first character that it does not have
}

func (n narrow) decode(raw []byte) (string, error) {
	var b strings.Builder
	for i, c := range raw {
		if int(c) >= n.end {
			return "", loader.Exception("UnicodeDecodeError",
				"'%s' codec can't decode byte 0x%02x in position %d: ordinal not in range(%d)",
				n.name, c, i, n.end)
		}
		b.WriteRune(rune(c))
	}
	return b.String(), nil
}

func (n narrow) encode(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i, r := range []rune(text) {
		if int(r) >= n.end {
			return nil, loader.Exception("UnicodeEncodeError",
				"'%s' codec can't encode character %U in position %d: ordinal not in range(%d)",
				n.name, r, i, n.end)
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// wide16 is UTF-16. With mark, files begin with a byte order mark, which decides on the order when
// they are read.
type wide16 struct {
	order binary.AppendByteOrder
	mark  bool
}

func (w wide16) decode(raw []byte) (string, error) {
	if len(raw)%2 != 0 {
		return "", loader.Exception("UnicodeDecodeError",
			"'utf-16' codec can't decode byte 0x%02x in position %d: truncated data",
			raw[len(raw)-1], len(raw)-1)
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if w.order == binary.AppendByteOrder(binary.BigEndian) {
		order = binary.BigEndian
	}
	switch {
	case !w.mark, len(raw) == 0:
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}):
		raw = raw[2:]
	case bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		raw, order = raw[2:], binary.BigEndian
	default:
		return "", loader.Exception("UnicodeError", "UTF-16 stream does not start with BOM")
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	var b strings.Builder
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i++; i == len(units) {
				return "", badSurrogate(2 * (i - 1))
			}
			if r = utf16.DecodeRune(r, rune(units[i])); r == utf8.RuneError {
				return "", badSurrogate(2 * (i - 1))
			}
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

func badSurrogate(at int) error {
	return loader.Exception("UnicodeDecodeError",
		"'utf-16' codec can't decode bytes in position %d-%d: illegal UTF-16 surrogate", at, at+1)
}

func (w wide16) encode(text string) ([]byte, error) {
	if w.mark {
		text = byteOrderMark + text
	}
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = w.order.AppendUint16(out, unit)
	}
	return out, nil
}
