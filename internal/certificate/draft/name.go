package draft

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// A field is a part of a subject with an argument of its own.
type field struct {
	Word  string
	OID   string
	Older []string // names in the older module x509
}

// fields returns the parts of subjects in the order in which a dictionary is converted to a name
// (NAME_ATTRS_OID).
func fields() []field {
	return []field{
		{"C", "2.5.4.6", nil}, {"ST", "2.5.4.8", []string{"stateOrProvinceName"}}, {"L",
			"2.5.4.7", []string{"localityName"}},
		{"STREET", "2.5.4.9", nil}, {"O", "2.5.4.10", []string{"organizationName"}}, {"OU",
			"2.5.4.11", []string{"organizationUnitName"}},
		{"CN", "2.5.4.3", []string{"commonName"}}, {"MAIL",
			"1.2.840.113549.1.9.1", []string{"Email", "emailAddress"}},
		{"SN", "2.5.4.4", []string{"surname"}}, {"GN", "2.5.4.42", []string{"givenName"}}, {"UID",
			"0.9.2342.19200300.100.1.1", nil},
		{"SERIALNUMBER", "2.5.4.5", []string{"serialNumber"}},
	}
}

// Name parses a distinguished name: a text or a list of texts in the form of RFC 4514, or a
// dictionary.
func Name(v any) (certificate.Name, error) {
	switch v := v.(type) {
	case string:
		n, err := certificate.ParseNameText(v)
		if err != nil {
			return nil, loader.Execution("Failed parsing rfc4514 dirName string")
		}
		return n, nil
	case []any:
		var n certificate.Name
		for _, one := range v {
			set, err := relative(one)
			if err != nil {
				return nil, err
			}
			n = append(n, set)
		}
		return n, nil
	case *data.Map:
		return nameOfFields(v)
	}
	return nil, loader.Invocation("Need string, list or dict to parse distinguished names")
}

func nameOfFields(m *data.Map) (certificate.Name, error) {
	n := certificate.Name{}
	for _, f := range fields() {
		v, ok := m.Get(f.Word)
		if !ok {
			continue
		}
		text, ok := v.(string)
		if !ok {
			return nil, loader.TypeError("value argument must be a str")
		}
		oid, _ := certificate.ParseOID(f.OID)
		a, err := certificate.NewAttribute(oid, text)
		if err != nil {
			return nil, loader.Exception("ValueError", "%w", err)
		}
		n = append(n, []certificate.Attribute{a})
	}
	return n, nil
}

// relative parses a relative distinguished name.
func relative(v any) ([]certificate.Attribute, error) {
	text, ok := v.(string)
	if !ok {
		return nil, loader.TypeError("object of type '%s' has no len()", loader.TypeName(v))
	}
	n, err := certificate.ParseNameText(text)
	if err != nil {
		return nil, loader.Execution("Failed parsing rdn string: %s", text)
	}
	if len(n) > 1 {
		return nil, loader.Invocation("Specified string is not a Relative Distinguished Name, but a Distinguished Name.")
	}
	return n[0], nil
}

// Words returns the parts of a name by argument name; of duplicates the first counts.
func Words(n certificate.Name) *data.Map {
	m := data.NewMap().SetOrdered()
	for _, f := range fields() {
		if text, ok := n.First(f.OID); ok {
			m.Set(f.Word, text)
		}
	}
	return m
}
