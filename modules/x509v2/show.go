package x509v2

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
)

// certKind accepts extensions of certificates, requests and revocation lists, entryKind those of
// revoked certificates.
func certKind(k draft.Kind) bool  { return !k.Entry }
func entryKind(k draft.Kind) bool { return k.Entry }

// showAll returns the values of extensions by name, in the order of the names. It leaves out
// rejectUnknown extensions.
func showAll(list []pkix.Extension, fits func(draft.Kind) bool) *data.Map {
	ret := data.NewMap()
	for _, k := range draft.Kinds() {
		oid, ok := certificate.ParseOID(k.OID)
		if !ok || !fits(k) {
			continue
		}
		if x := certificate.ExtensionOf(list, oid); x != nil {
			ret.Set(k.Word, show(x))
		}
	}
	return ret
}

// show returns the value of an extension. Invalid contents are returned in hexadecimal.
func show(x *pkix.Extension) *data.Map {
	ret := data.NewMap("critical", x.Critical)
	parsed, err := parse(x)
	if err != nil {
		parsed = data.NewMap("value", certificate.Hex(x.Value))
	}
	ret.Update(parsed)
	return ret
}

func parse(x *pkix.Extension) (*data.Map, error) {
	switch x.Id.String() {
	case certificate.OIDBasicConstraints:
		return showConstraints(x.Value)
	case certificate.OIDKeyUsage:
		return showUsage(x.Value)
	case certificate.OIDExtendedKeyUsage:
		return showPurposes(x.Value)
	case certificate.OIDSubjectKeyID:
		var id []byte
		err := certificate.Whole(x.Value, &id)
		return data.NewMap("value", certificate.Hex(id)), err
	case certificate.OIDAuthorityKeyID:
		return showAuthority(x.Value)
	case certificate.OIDSubjectAltName, certificate.OIDIssuerAltName,
		certificate.OIDCertificateIssuer:
		return showAlternatives(x.Value)
	case certificate.OIDAuthorityInfoAccess:
		return showAccess(x.Value)
	case certificate.OIDDistributionPoints, certificate.OIDFreshestList:
		return showPoints(x.Value)
	case certificate.OIDIssuingDistributionPoint:
		return showIssuingPoint(x.Value)
	case certificate.OIDPolicies:
		return showPolicies(x.Value)
	case certificate.OIDPolicyConstraints:
		return showLimits(x.Value)
	case certificate.OIDNameConstraints:
		return showSubtrees(x.Value)
	case certificate.OIDNoCheck:
		return data.NewMap("value", true), nil
	case certificate.OIDFeatures:
		return showFeatures(x.Value)
	case certificate.OIDReason:
		return showReason(x.Value)
	case certificate.OIDInvalidityDate:
		var at time.Time
		_, err := asn1.UnmarshalWithParams(x.Value, &at, "generalized")
		return data.NewMap("value", at.UTC().Format(draft.Layout)), err
	}
	var n *big.Int // cRLNumber, deltaCRLIndicator, inhibitAnyPolicy
	if err := certificate.Whole(x.Value, &n); err != nil {
		return nil, err
	}
	return data.NewMap("value", number(n)), nil
}

// number returns an integer in the form of package data.
func number(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func showConstraints(der []byte) (*data.Map, error) {
	var c certificate.Constraints
	if err := certificate.Whole(der, &c); err != nil {
		return nil, err
	}
	ret := data.NewMap("ca", c.CA, "pathlen", nil)
	if c.PathLen >= 0 {
		ret.Set("pathlen", int64(c.PathLen))
	}
	return ret, nil
}

func showUsage(der []byte) (*data.Map, error) {
	var b asn1.BitString
	if err := certificate.Whole(der, &b); err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for i, word := range certificate.KeyUsages() {
		is[word] = b.At(i) == 1
	}
	ret := data.NewMap()
	for _, word := range []string{"cRLSign", "dataEncipherment", "decipherOnly", "digitalSignature",
		"encipherOnly", "keyAgreement", "keyCertSign", "keyEncipherment", "nonRepudiation"} {
		only := word == "decipherOnly" || word == "encipherOnly"
		ret.Set(word, is[word] && (!only || is["keyAgreement"]))
	}
	return ret, nil
}

func showPurposes(der []byte) (*data.Map, error) {
	var oids []asn1.ObjectIdentifier
	if err := certificate.Whole(der, &oids); err != nil {
		return nil, err
	}
	list := []any{}
	for _, oid := range oids {
		list = append(list, word(oid))
	}
	return data.NewMap("value", list), nil
}

func showAuthority(der []byte) (*data.Map, error) {
	var a certificate.Authority
	if err := certificate.Whole(der, &a); err != nil {
		return nil, err
	}
	ret := data.NewMap("keyid", nil, "issuer", nil, "issuer_sn", nil)
	if len(a.KeyID) > 0 {
		ret.Set("keyid", certificate.Hex(a.KeyID))
	}
	names, err := showNames(a.Issuer)
	if len(names) > 0 {
		ret.Set("issuer", names)
	}
	if a.Serial != nil && a.Serial.Sign() != 0 {
		ret.Set("issuer_sn", draft.SerialText(a.Serial))
	}
	return ret, err
}

func showAlternatives(der []byte) (*data.Map, error) {
	var names []asn1.RawValue
	if err := certificate.Whole(der, &names); err != nil {
		return nil, err
	}
	list, err := showNames(names)
	return data.NewMap("value", list), err
}

func showAccess(der []byte) (*data.Map, error) {
	var places []certificate.Access
	if err := certificate.Whole(der, &places); err != nil {
		return nil, err
	}
	list := []any{}
	for _, p := range places {
		text, err := bare(p.Place)
		if err != nil {
			return nil, err
		}
		list = append(list, data.NewMap(word(p.Method), text))
	}
	return data.NewMap("value", list), nil
}

func showFeatures(der []byte) (*data.Map, error) {
	var numbers []int
	if err := certificate.Whole(der, &numbers); err != nil {
		return nil, err
	}
	list := []any{}
	for _, n := range numbers {
		if name, ok := map[int]string{5: "status_request", 17: "status_request_v2"}[n]; ok {
			list = append(list, name)
		}
	}
	return data.NewMap("value", list), nil
}

func showReason(der []byte) (*data.Map, error) {
	var code asn1.Enumerated
	if err := certificate.Whole(der, &code); err != nil {
		return nil, err
	}
	for _, r := range certificate.Reasons() {
		if r.Code == int(code) {
			return data.NewMap("value", r.Word), nil
		}
	}
	return data.NewMap("value", int64(code)), nil
}
