package cmd

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// decode returns output as text. Bytes that are invalid in the encoding are replaced, like
// to_unicode of salt/utils/stringutils.py does on its second try.
func (m runner) decode(j *job, out, stream string) (string, error) {
	name := "utf-8"
	if j.encoding != nil {
		name = data.Str(j.encoding)
		if j.level != quiet {
			logAt(m.env.Log, levelDebug, "Decoding output of command %s using %s encoding",
				j.first(), name)
		}
	}
	text, clean, err := decodeText(out, name)
	if err == nil && !clean && j.level != quiet {
		m.env.Log.Errorf("Failed to decode %s from command %s, non-decodable characters have been replaced", stream, j.first())
	}
	return text, err
}

// decodeText decodes a text and reports whether all bytes were valid. For an unknown encoding the
// error is Python's.
func decodeText(s, name string) (text string, clean bool, err error) {
	norm := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	switch norm {
	case "utf8", "u8", "utf", "cp65001":
		text, clean = decodeUTF8(s)
		return text, clean, nil
	case "utf8sig":
		text, clean = decodeUTF8(strings.TrimPrefix(s, "\ufeff"))
		return text, clean, nil
	case "ascii", "usascii", "646":
		text, clean = decodeASCII(s)
		return text, clean, nil
	}
	e := encodingOf(norm)
	if e == nil {
		return "", false, loader.Exception("LookupError", "unknown encoding: %s", name)
	}
	text, err = e.NewDecoder().String(s)
	return text, !strings.ContainsRune(text, utf8.RuneError), err
}

// decodeUTF8 replaces invalid UTF-8 with U+FFFD, one for each longest valid beginning of a
// character, like Python.
func decodeUTF8(s string) (string, bool) {
	if utf8.ValidString(s) {
		return s, true
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = badPrefix(s)
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String(), false
}

// badPrefix returns how many bytes at the start of s belong to one character that is cut short.
func badPrefix(s string) int {
	first, low, high := s[0], byte(0x80), byte(0xbf)
	more := 0
	switch {
	case first >= 0xc2 && first <= 0xdf:
		more = 1
	case first >= 0xe0 && first <= 0xef:
		more = 2
	case first >= 0xf0 && first <= 0xf4:
		more = 3
	}
	switch first {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n <= more && n < len(s) && s[n] >= low && s[n] <= high {
		n++
		low, high = 0x80, 0xbf
	}
	return n
}

func decodeASCII(s string) (string, bool) {
	var b strings.Builder
	clean := true
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			b.WriteByte(s[i])
			continue
		}
		clean = false
		b.WriteRune(utf8.RuneError)
	}
	return b.String(), clean
}

// encodingOf returns an encoding by Python's name, without its hyphens, or nil if it is unknown.
func encodingOf(name string) encoding.Encoding {
	switch name {
	case "utf16", "u16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "utf16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "latin1", "latin", "l1", "iso88591", "88591", "cp819":
		return charmap.ISO8859_1
	case "cp1252", "windows1252", "1252":
		return charmap.Windows1252
	case "cp437", "ibm437", "437":
		return charmap.CodePage437
	case "cp850", "ibm850", "850":
		return charmap.CodePage850
	case "iso885915":
		return charmap.ISO8859_15
	}
	if e := codepage(name); e != nil {
		return e
	}
	return wideEncoding(name)
}
