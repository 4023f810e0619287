package x509

import (
	"crypto/md5"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
)

// A name is a distinguished name: an ordered list of sets of attributes.
type name certificate.Name

// A field is a name attribute with its words: the one that OpenSSL prints, the one that Salt's
// functions return, and all that are accepted.
type field struct {
	oid     string
	short   string // as OpenSSL prints it
	salt    string // as read_certificate returns it
	words   []string
	limit   int
	strType int
}

func fields() []field {
	return []field{ // in the order in which a subject is returned
		{"2.5.4.3", "CN", "CN", []string{"CN", "commonName"}, 64, asn1.TagUTF8String},
		{"2.5.4.6", "C", "C", []string{"C"}, 2, asn1.TagPrintableString},
		{"2.5.4.7", "L", "L", []string{"L", "localityName"}, 128, asn1.TagUTF8String},
		{"2.5.4.8", "ST", "SP", []string{"SP", "ST", "stateOrProvinceName"}, 128,
			asn1.TagUTF8String},
		{"2.5.4.10", "O", "O", []string{"O", "organizationName"}, 64, asn1.TagUTF8String},
		{"2.5.4.11", "OU", "OU", []string{"OU", "organizationUnitName"}, 64, asn1.TagUTF8String},
		{"1.2.840.113549.1.9.1", "emailAddress", "Email", []string{"Email", "emailAddress"}, 128,
			asn1.TagIA5String},
		{"2.5.4.42", "GN", "GN", []string{"GN", "givenName"}, 32768, asn1.TagUTF8String},
		{"2.5.4.4", "SN", "SN", []string{"SN", "surname"}, 32768, asn1.TagUTF8String},
		{"2.5.4.5", "serialNumber", "serialNumber", []string{"serialNumber"}, 64,
			asn1.TagPrintableString},
	}
}

// fieldOf returns the first field that fits accepts, or nil.
func fieldOf(fits func(field) bool) *field {
	list := fields()
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return &list[i]
	}
	return nil
}

// fieldWords returns all words of fields in the order in which they are added to a subject.
func fieldWords() []string {
	var words []string
	for _, f := range fields() {
		words = append(words, f.words...)
	}
	slices.Sort(words)
	return words
}

// add appends values of the arguments to a name. As in Salt, values that a field cannot hold are
// left out; they are returned as refused.
func (n name) add(values *data.Map) (all name, refused []string) {
	for _, word := range fieldWords() {
		v, ok := values.Get(word)
		if !ok {
			continue
		}
		f := fieldOf(func(f field) bool { return slices.Contains(f.words, word) })
		text := data.Str(v)
		if v == nil || !f.holds(text) {
			refused = append(refused, word)
			continue
		}
		oid, _ := certificate.ParseOID(f.oid)
		n = append(n, []certificate.Attribute{{Type: oid,
			Value: asn1.RawValue{Tag: f.strType, Bytes: []byte(text)}}})
	}
	return n, refused
}

func (f *field) holds(text string) bool {
	length := utf8.RuneCountInString(text)
	if text == "" || length > f.limit || f.short == "C" && length != 2 || !utf8.ValidString(text) {
		return false
	}
	switch f.strType {
	case asn1.TagPrintableString:
		return !strings.ContainsFunc(text, func(r rune) bool { return !printable(r) })
	case asn1.TagIA5String:
		return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	}
	return true
}

func printable(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune(" '()+,-./:=?", r)
}

func parseName(der []byte) (name, error) {
	n, err := certificate.ParseName(der)
	return name(n), err
}

// dict returns the attributes of a name under Salt's words. If an attribute occurs twice, the first
// counts.
func (n name) dict() *data.Map {
	m := data.NewMap()
	for _, f := range fields() {
		for _, set := range n {
			for _, a := range set {
				if text := a.Text(); a.Type.String() == f.oid && text != "" && !m.Has(f.salt) {
					m.Set(f.salt, text)
				}
			}
		}
	}
	return m
}

// openssl returns the attributes of a name under OpenSSL's words, in their order.
func (n name) openssl() *data.Map {
	m := data.NewMap()
	for _, set := range n {
		for _, a := range set {
			m.Set(shortName(a.Type), a.Text())
		}
	}
	return m
}

func shortName(oid asn1.ObjectIdentifier) string {
	if f := fieldOf(func(f field) bool { return f.oid == oid.String() }); f != nil {
		return f.short
	}
	if oid.String() == "0.9.2342.19200300.100.1.25" {
		return "DC"
	}
	if oid.String() == "0.9.2342.19200300.100.1.1" {
		return "UID"
	}
	return oid.String()
}

// line returns a name on one line, as OpenSSL prints it in an authority key identifier.
func (n name) line() string {
	var s strings.Builder
	for _, set := range n {
		for _, a := range set {
			s.WriteString("/" + shortName(a.Type) + "=")
			for _, c := range a.Value.Bytes {
				switch {
				case c == '/' || c == '+':
					s.WriteByte('\\')
					s.WriteByte(c)
				case c < ' ' || c > '~':
					fmt.Fprintf(&s, "\\x%02X", c)
				default:
					s.WriteByte(c)
				}
			}
		}
	}
	return s.String()
}

// nameHash returns the MD5 hash of a name as a number. OpenSSL before 1.0 named certificate files
// by it, and M2Crypto still returns it.
func nameHash(der []byte) string {
	sum := md5.Sum(der)
	return prettyNumber(uint64(binary.LittleEndian.Uint32(sum[:4])))
}

func prettyNumber(n uint64) string {
	b := binary.BigEndian.AppendUint64(nil, n)
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return certificate.Hex(b)
}
