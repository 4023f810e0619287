package x509

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// An extension is a type of extension: its names, and the functions that encode and show its value.
type extension struct {
	short, long, oid string
	encode           func(issuer *certificate.Certificate, value string) (any, error)
	show             func(der []byte) (string, error)
}

// extensions returns the extensions that arguments may set, in the order in which a certificate has
// them.
func extensions() []extension {
	return []extension{
		{"basicConstraints", "X509v3 Basic Constraints", "2.5.29.19", encodeConstraints,
			showConstraints},
		{"keyUsage", "X509v3 Key Usage", "2.5.29.15", bits(keyUsages()), showBits(keyUsages())},
		{"extendedKeyUsage", "X509v3 Extended Key Usage", "2.5.29.37", encodePurposes,
			showPurposes},
		{"subjectKeyIdentifier", "X509v3 Subject Key Identifier",
			"2.5.29.14", encodeKeyID, showKeyID},
		{"authorityKeyIdentifier", "X509v3 Authority Key Identifier", "2.5.29.35", encodeAuthority,
			showAuthority},
		{"issuerAltName", "X509v3 Issuer Alternative Name", "2.5.29.18", encodeAltNames,
			showAltNames},
		{"authorityInfoAccess", "X509v3 Authority Info Access",
			"1.3.6.1.5.5.7.1.1", encodeAccess, showAccess},
		{"subjectAltName", "X509v3 Subject Alternative Name", "2.5.29.17", encodeAltNames,
			showAltNames},
		{"crlDistributionPoints", "X509v3 CRL Distribution Points",
			"2.5.29.31", encodePoints, showPoints},
		{"issuingDistributionPoint", "X509v3 Issuing Distribution Point", "2.5.29.28", refuse, nil},
		{"certificatePolicies", "X509v3 Certificate Policies", "2.5.29.32", encodePolicies,
			showPolicies},
		{"policyConstraints", "X509v3 Policy Constraints", "2.5.29.36", encodePolicyLimits,
			showPolicyLimits},
		{"inhibitAnyPolicy", "X509v3 Inhibit Any Policy", "2.5.29.54", encodeNumber, showNumber},
		{"nameConstraints", "X509v3 Name Constraints", "2.5.29.30", encodeSubtrees, showSubtrees},
		{"noCheck", "X509v3 OCSP No Check", "1.3.6.1.5.5.7.48.1.5", encodeNull, showNull},
		{"nsComment", "Netscape Comment", "2.16.840.1.113730.1.13", encodeComment, showComment},
		{"nsCertType", "Netscape Certificate Type", "2.16.840.1.113730.1.1", bits(certTypes()),
			showBits(certTypes())},
	}
}

var errValue = errors.New("invalid value")

func refuse(*certificate.Certificate, string) (any, error) { return nil, errValue }

// newExtension encodes the value of an argument. The value may begin with "critical ", and with
// DER: before hexadecimal digits.
func (e *extension) newExtension(
	issuer *certificate.Certificate, value string,
) (pkix.Extension, error) {
	text, critical := strings.CutPrefix(value, "critical ")
	oid, _ := certificate.ParseOID(e.oid)
	bad := loader.Exception("M2Crypto.X509.X509Error",
		"Cannot create X509_Extension with name '%s' and value '%s'", e.short, text)
	if digits, ok := strings.CutPrefix(text, "DER:"); ok {
		der, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
		if err != nil {
			return pkix.Extension{}, bad
		}
		return pkix.Extension{Id: oid, Critical: critical, Value: der}, nil
	}
	if e.short == "subjectKeyIdentifier" && strings.Trim(text, "0123456789abcdefABCDEF:") != "" {
		return pkix.Extension{}, loader.Invocation("value must be precomputed hash")
	}
	v, err := e.encode(issuer, text)
	if err != nil {
		return pkix.Extension{}, bad
	}
	der, err := asn1.Marshal(v)
	if err != nil {
		return pkix.Extension{}, bad
	}
	return pkix.Extension{Id: oid, Critical: critical, Value: der}, nil
}

// extensionOf returns the extension type with an object identifier, or nil.
func extensionOf(oid asn1.ObjectIdentifier) *extension {
	list := extensions()
	if i := slices.IndexFunc(list,
		func(e extension) bool { return e.oid == oid.String() }); i >= 0 {
		return &list[i]
	}
	return nil
}

// showExtension returns the value of an extension as OpenSSL prints it, with the prefix "critical "
// if it is critical. Values of unknown types or with invalid contents are returned in hexadecimal.
func showExtension(x pkix.Extension) (short, long, text string) {
	short, long, text = x.Id.String(), x.Id.String(), certificate.Hex(x.Value)
	if e := extensionOf(x.Id); e != nil {
		short, long = e.short, e.long
		if e.show != nil {
			if s, err := e.show(x.Value); err == nil {
				text = s
			}
		}
	}
	if x.Critical {
		text = "critical " + text
	}
	return short, long, text
}

// showExtensions returns the values of extensions by name.
func showExtensions(list []pkix.Extension) *data.Map {
	m := data.NewMap()
	for _, x := range list {
		short, _, text := showExtension(x)
		m.Set(short, text)
	}
	return m
}

// pair is a part of a value: a name, and the text after the colon.
type pair struct{ name, value string }

// pairs splits a value at its commas and each part at its first colon, as OpenSSL parses its
// configuration.
func pairs(text string) ([]pair, error) {
	var list []pair
	for part := range strings.SplitSeq(text, ",") {
		name, value, colon := strings.Cut(part, ":")
		p := pair{strings.TrimSpace(name), strings.TrimSpace(value)}
		if p.name == "" || colon && p.value == "" {
			return nil, errValue
		}
		list = append(list, p)
	}
	return list, nil
}

func encodeNull(*certificate.Certificate, string) (any, error) { return asn1.NullRawValue, nil }

func showNull([]byte) (string, error) { return "", nil }

func encodeComment(_ *certificate.Certificate, text string) (any, error) {
	return asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(text)}, nil
}

func showComment(der []byte) (string, error) {
	var raw asn1.RawValue
	err := certificate.Whole(der, &raw)
	return string(raw.Bytes), err
}
