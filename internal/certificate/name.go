package certificate

import (
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// An Attribute is one part of a distinguished name.
type Attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// A Name is a distinguished name: sets of attributes, in order.
type Name [][]Attribute

// attributeSET is an ASN.1 SET OF attributes; encoding/asn1 recognizes it by the suffix SET.
type attributeSET []Attribute

// Marshal returns the name in DER.
func (n Name) Marshal() (asn1.RawValue, error) {
	sets := make([]attributeSET, 0, len(n))
	for _, set := range n {
		sets = append(sets, set)
	}
	der, err := asn1.Marshal(sets)
	return asn1.RawValue{FullBytes: der}, err
}

// ParseName parses a name in DER.
func ParseName(der []byte) (Name, error) {
	var sets []attributeSET
	if err := Whole(der, &sets); err != nil {
		return nil, fmt.Errorf("distinguished name: %w", err)
	}
	n := make(Name, 0, len(sets))
	for _, set := range sets {
		n = append(n, set)
	}
	return n, nil
}

// Text returns the value of an attribute.
func (a Attribute) Text() string {
	b := a.Value.Bytes
	switch a.Value.Tag {
	case asn1.TagBMPString:
		var units []uint16
		for ; len(b) >= 2; b = b[2:] {
			units = append(units, binary.BigEndian.Uint16(b))
		}
		return string(utf16.Decode(units))
	case asn1.TagUTF8String:
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// Equal reports whether two names have the same attributes, regardless of their ASN.1 string types.
func (n Name) Equal(other Name) bool {
	if len(n) != len(other) {
		return false
	}
	for i, set := range n {
		if len(set) != len(other[i]) || !within(set, other[i]) || !within(other[i], set) {
			return false
		}
	}
	return true
}

// within reports whether each attribute of a set is in another.
func within(set, other []Attribute) bool {
	for _, a := range set {
		found := false
		for _, b := range other {
			found = found || a.Type.Equal(b.Type) && a.Text() == b.Text()
		}
		if !found {
			return false
		}
	}
	return true
}

// First returns the value of the first attribute of a type, and whether there is one.
func (n Name) First(oid string) (string, bool) {
	for _, set := range n {
		for _, a := range set {
			if a.Type.String() == oid {
				return a.Text(), true
			}
		}
	}
	return "", false
}

// String returns the name in the form of RFC 4514: the last set first. Types without a name there
// are numbers.
func (n Name) String() string {
	parts := make([]string, len(n))
	for i, set := range n {
		parts[len(n)-1-i] = setText(set)
	}
	return strings.Join(parts, ",")
}

// setText returns a relative distinguished name in the form of RFC 4514.
func setText(set []Attribute) string {
	parts := make([]string, len(set))
	for i, a := range set {
		parts[i] = typeWord(a.Type) + "=" + escaped(a.Text())
	}
	return strings.Join(parts, "+")
}

// typeWords returns RFC 4514's names of attribute types (section 3).
func typeWords() map[string]string {
	return map[string]string{
		"CN": "2.5.4.3", "L": "2.5.4.7", "ST": "2.5.4.8", "O": "2.5.4.10", "OU": "2.5.4.11",
		"C": "2.5.4.6", "STREET": "2.5.4.9", "DC": "0.9.2342.19200300.100.1.25",
		"UID": "0.9.2342.19200300.100.1.1",
	}
}

func typeWord(oid asn1.ObjectIdentifier) string {
	for word, number := range typeWords() {
		if number == oid.String() {
			return word
		}
	}
	return oid.String()
}

// escaped escapes the special characters of RFC 4514 in a value.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "+", `\+`, ",", `\,`, ";", `\;`, "<", `\<`,
		">", `\>`, "\x00", `\00`).Replace(text)
	if strings.HasPrefix(text, "#") || strings.HasPrefix(text, " ") {
		text = `\` + text
	}
	if len(text) > 1 && strings.HasSuffix(text, " ") {
		text = text[:len(text)-1] + `\ `
	}
	return text
}
