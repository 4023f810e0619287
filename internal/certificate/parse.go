package certificate

import (
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"
)

// errName reports a text that is not a distinguished name.
var errName = errors.New("no distinguished name as RFC 4514 writes it")

// ParseNameText parses a distinguished name in the form of RFC 4514; the last set of the text is
// the first of the name.
func ParseNameText(text string) (Name, error) {
	p := &nameText{rest: text}
	var n Name
	for {
		set, err := p.set()
		if err != nil {
			return nil, err
		}
		n = append(Name{set}, n...)
		if p.rest == "" {
			return n, nil
		}
		if !p.take(',') {
			return nil, errName
		}
	}
}

// nameText is the rest of a text being parsed.
type nameText struct{ rest string }

func (p *nameText) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *nameText) set() ([]Attribute, error) {
	var set []Attribute
	for {
		a, err := p.attribute()
		if err != nil {
			return nil, err
		}
		set = append(set, a)
		if !p.take('+') {
			return set, nil
		}
	}
}

func (p *nameText) attribute() (Attribute, error) {
	word, rest, ok := strings.Cut(p.rest, "=")
	if number, is := typeWords()[word]; is {
		word = number
	}
	oid, isOID := ParseOID(word)
	if !ok || !isOID {
		return Attribute{}, errName
	}
	p.rest = rest
	value, err := p.value()
	if err != nil {
		return Attribute{}, err
	}
	return NewAttribute(oid, value)
}

// value reads up to the terminating character.
func (p *nameText) value() (string, error) {
	if strings.HasPrefix(p.rest, "#") {
		end := len(p.rest) - len(strings.TrimLeft(p.rest[1:], "0123456789abcdefABCDEF"))
		b, err := hex.DecodeString(p.rest[1:end])
		if err != nil || len(b) == 0 || !utf8.Valid(b) {
			return "", errName
		}
		p.rest = p.rest[end:]
		return string(b), nil
	}
	var out []byte
	kept := 0 // length without trailing unescaped blanks
	for p.rest != "" && p.rest[0] != ',' && p.rest[0] != '+' {
		c := p.rest[0]
		switch {
		case c == '\\':
			b, n := pairOf(p.rest)
			if n == 0 {
				return "", errName
			}
			out, p.rest = append(out, b), p.rest[n:]
			kept = len(out)
			continue
		case strings.IndexByte("\";<\x00", c) >= 0, c == '>', c == ' ' && len(out) == 0:
			return "", errName
		}
		out, p.rest = append(out, c), p.rest[1:]
		if c != ' ' {
			kept = len(out)
		}
	}
	if kept < len(out) || !utf8.Valid(out) {
		return "", errName
	}
	return string(out), nil
}

// pairOf decodes what follows a backslash: a special character, or two hex digits. n is its length,
// 0 if it is invalid.
func pairOf(text string) (b byte, n int) {
	if len(text) > 1 && strings.IndexByte("\\ #=\"+,;<>", text[1]) >= 0 {
		return text[1], 2
	}
	if len(text) > 2 {
		if d, err := hex.DecodeString(text[1:3]); err == nil {
			return d[0], 3
		}
	}
	return 0, 0
}

// NewAttribute returns an attribute with the string type that Python's cryptography library uses
// for its type. A country has two letters; the error has that library's text.
func NewAttribute(oid asn1.ObjectIdentifier, value string) (Attribute, error) {
	a := Attribute{Type: oid, Value: asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(value)}}
	switch oid.String() {
	case "2.5.4.6", "1.3.6.1.4.1.311.60.2.1.3":
		if len(value) != 2 {
			return a, errors.New("Country name must be a 2 character country code") //nolint:staticcheck // the library's text
		}
		a.Value.Tag = asn1.TagPrintableString
	case "2.5.4.5", "2.5.4.46":
		a.Value.Tag = asn1.TagPrintableString
	case "1.2.840.113549.1.9.1", "0.9.2342.19200300.100.1.25":
		a.Value.Tag = asn1.TagIA5String
	}
	return a, nil
}
