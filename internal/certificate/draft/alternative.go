package draft

import (
	"encoding/asn1"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// subjectNames builds subjectAltName.
func subjectNames(_ about, v any) (any, bool, error) {
	list, critical := names(v)
	out, err := generals(list)
	return out, critical, err
}

// issuerNames builds issuerAltName and certificateIssuer; issuer:copy is replaced by the names of
// the signing certificate.
func issuerNames(a about, v any) (any, bool, error) {
	list, critical := names(v)
	var out []asn1.RawValue
	var rest []pair
	for _, p := range list {
		if p.name != "issuer" || p.value != "copy" {
			rest = append(rest, p)
			continue
		}
		copied, err := a.alternatives()
		if err != nil {
			return nil, false, err
		}
		out = append(out, copied...)
	}
	more, err := generals(rest)
	return append(out, more...), critical, err
}

// alternatives returns the alternative names of the signing certificate.
func (a about) alternatives() ([]asn1.RawValue, error) {
	if a.authority == nil {
		return nil, loader.Exception("RuntimeError", "Need CA certificate to copy to issuerAltName")
	}
	oid, _ := certificate.ParseOID(certificate.OIDSubjectAltName)
	x := certificate.ExtensionOf(a.authority.TBS.Extensions, oid)
	if x == nil {
		return nil, loader.Execution("No <class 'cryptography.x509.extensions.SubjectAlternativeName'> extension was found")
	}
	var list []asn1.RawValue
	if err := certificate.Whole(x.Value, &list); err != nil {
		return nil, loader.Execution("subjectAltName of the certificate that signs: %w", err)
	}
	return list, nil
}

// access builds authorityInfoAccess: a method and a general name, separated by a semicolon in a
// text.
func access(_ about, v any) (any, bool, error) {
	var list []pair
	add := func(m *data.Map) {
		for k, value := range m.All() {
			if k != "critical" {
				list = append(list, pair{data.Str(k), value})
			}
		}
	}
	switch v := v.(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part == "critical" {
				continue
			}
			method, place, ok := strings.Cut(part, ";")
			if !ok {
				return nil, false, loader.Exception("ValueError",
					"not enough values to unpack (expected 2, got 1)")
			}
			list = append(list, pair{method, place})
		}
	case *data.Map:
		add(v)
	case []any:
		for _, one := range v {
			if m, ok := one.(*data.Map); ok {
				add(m)
			}
		}
	}
	out := []certificate.Access{}
	for _, p := range list {
		one, err := accessOf(p)
		if err != nil {
			return nil, false, err
		}
		out = append(out, one)
	}
	return out, false, nil
}

func accessOf(p pair) (certificate.Access, error) {
	number := map[string]string{"OCSP": "1.3.6.1.5.5.7.48.1", "caIssuers": "1.3.6.1.5.5.7.48.2",
		"caRepository": "1.3.6.1.5.5.7.48.5"}[p.name]
	if number == "" {
		number = p.name
	}
	oid, ok := certificate.ParseOID(number)
	if !ok {
		return certificate.Access{}, loader.Execution("Unknown access OID: %s", p.name)
	}
	places, err := generalTexts(p.value)
	if err != nil {
		return certificate.Access{}, err
	}
	if len(places) != 1 {
		return certificate.Access{}, loader.Invocation("%s needs one place", p.name)
	}
	return certificate.Access{Method: oid, Place: places[0]}, nil
}
