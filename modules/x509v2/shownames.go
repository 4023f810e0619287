package x509v2

import (
	"encoding/asn1"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
)

func showNames(names []asn1.RawValue) ([]any, error) {
	list := []any{}
	for _, n := range names {
		text, err := bare(n)
		if err != nil {
			return nil, err
		}
		kinds := map[int]string{certificate.NameEmail: "mail:", certificate.NameDNS: "DNS:",
			certificate.NameDirectory: "dirName:", certificate.NameURI: "URI:",
			certificate.NameIP: "IP:", certificate.NameID: "RID:"}
		list = append(list, kinds[n.Tag]+text)
	}
	return list, nil
}

// errKind is the error for a general name of a type without a text form.
var errKind = errors.New("general name of an unknown kind")

// bare returns a general name without its type.
func bare(n asn1.RawValue) (string, error) {
	switch n.Tag {
	case certificate.NameEmail, certificate.NameDNS, certificate.NameURI:
		return string(n.Bytes), nil
	case certificate.NameDirectory:
		dn, err := certificate.ParseName(n.Bytes)
		return dn.String(), err
	case certificate.NameIP:
		return showIP(n.Bytes)
	case certificate.NameID:
		oid, err := certificate.RegisteredID(n)
		return oid.String(), err
	case 0:
		return otherName(n.Bytes)
	}
	return "", errKind
}

// otherName returns a name of the type otherName as Python's cryptography library prints it.
func otherName(b []byte) (string, error) {
	var oid asn1.ObjectIdentifier
	rest, err := asn1.Unmarshal(b, &oid)
	if err != nil {
		return "", err
	}
	var value asn1.RawValue
	if err := certificate.Whole(rest, &value); err != nil {
		return "", err
	}
	known := certificate.Word(oid.String())
	if known == "" {
		known = "Unknown OID"
	}
	return fmt.Sprintf("<OtherName(type_id=<ObjectIdentifier(oid=%s, name=%s)>, value=%s)>", oid,
		known, data.Repr(value.Bytes)), nil
}

// showIP returns an address in its full form, or a network.
func showIP(b []byte) (string, error) {
	switch len(b) {
	case 4, 16:
		ip, _ := netip.AddrFromSlice(b)
		return ip.StringExpanded(), nil
	case 8, 32:
		ip, _ := netip.AddrFromSlice(b[:len(b)/2])
		bits := 0
		for _, c := range b[len(b)/2:] {
			for ; c&0x80 != 0; c <<= 1 {
				bits++
			}
		}
		return fmt.Sprintf("%s/%d", ip.StringExpanded(), bits), nil
	}
	return "", errKind
}

// reasonWords returns the names of the reasons in a bit string, sorted.
func reasonWords(b asn1.BitString) []any {
	words := []string{}
	for _, r := range certificate.Reasons() {
		if r.Bit >= 0 && b.At(r.Bit) == 1 {
			words = append(words, r.Word)
		}
	}
	slices.Sort(words)
	return data.Values(words)
}

// relativeName returns a name relative to that of an issuer, nil if there is none.
func relativeName(raw asn1.RawValue) (any, error) {
	if len(raw.Bytes) == 0 {
		return nil, nil
	}
	set, err := asn1.Marshal([]asn1.RawValue{{Tag: asn1.TagSet, IsCompound: true,
		Bytes: raw.Bytes}})
	if err != nil {
		return nil, err
	}
	n, err := certificate.ParseName(set)
	return n.String(), err
}

func showPoints(der []byte) (*data.Map, error) {
	var points []certificate.DistributionPoint
	if err := certificate.Whole(der, &points); err != nil {
		return nil, err
	}
	list := []any{}
	for _, p := range points {
		issuer, err := showNames(p.Issuer)
		if err != nil {
			return nil, err
		}
		full, err := showNames(p.Point.Names)
		if err != nil {
			return nil, err
		}
		below, err := relativeName(p.Point.Relative)
		if err != nil {
			return nil, err
		}
		list = append(list, data.NewMap("crlissuer", issuer, "fullname", full,
			"reasons", reasonWords(p.Reasons), "relativename", below))
	}
	return data.NewMap("value", list), nil
}

func showIssuingPoint(der []byte) (*data.Map, error) {
	var p certificate.IssuingPoint
	if err := certificate.Whole(der, &p); err != nil {
		return nil, err
	}
	full, err := showNames(p.Point.Names)
	if err != nil {
		return nil, err
	}
	below, err := relativeName(p.Point.Relative)
	// The misspelt key is Salt's (_render_issuing_distribution_point).
	return data.NewMap("fullname", full, "onysomereasons", reasonWords(p.Reasons),
		"relativename", below, "onlyuser", p.Users, "onlyCA", p.CAs,
		"onlyAA", p.Attribute, "indirectCRL", p.Indirect), err
}

func showPolicies(der []byte) (*data.Map, error) {
	var policies []certificate.Policy
	if err := certificate.Whole(der, &policies); err != nil {
		return nil, err
	}
	list := []any{}
	for _, p := range policies {
		qualifiers := []any{}
		for _, raw := range p.Qualifiers {
			q, err := showQualifier(raw.FullBytes)
			if err != nil {
				return nil, err
			}
			qualifiers = append(qualifiers, q)
		}
		list = append(list, data.NewMap(word(p.ID), qualifiers))
	}
	return data.NewMap("value", list), nil
}

func showQualifier(der []byte) (*data.Map, error) {
	var q certificate.Qualifier
	if err := certificate.Whole(der, &q); err != nil {
		return nil, err
	}
	if q.ID.String() == draft.OIDPractice {
		return data.NewMap("practice_statement", string(q.Value.Bytes)), nil
	}
	// The first key, misspelt, is Salt's (_render_certificate_policies).
	ret := data.NewMap("organizataion", nil, "notice_numbers", nil, "explicit_text", nil)
	for rest := q.Value.Bytes; len(rest) > 0; {
		var part asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &part); err != nil {
			return nil, err
		}
		if part.Tag != asn1.TagSequence {
			ret.Set("explicit_text", certificate.Attribute{Value: part}.Text())
			continue
		}
		var organization asn1.RawValue
		var numbers []int
		more, err := asn1.Unmarshal(part.Bytes, &organization)
		if err == nil {
			err = certificate.Whole(more, &numbers)
		}
		if err != nil {
			return nil, err
		}
		list := []any{}
		for _, n := range numbers {
			list = append(list, int64(n))
		}
		ret.Set("organizataion", certificate.Attribute{Value: organization}.Text())
		ret.Set("notice_numbers", list)
	}
	return ret, nil
}

func showLimits(der []byte) (*data.Map, error) {
	var limits certificate.PolicyLimits
	if err := certificate.Whole(der, &limits); err != nil {
		return nil, err
	}
	ret := data.NewMap("inhibitPolicyMapping", nil, "requireExplicitPolicy", nil)
	if limits.Inhibit >= 0 {
		ret.Set("inhibitPolicyMapping", int64(limits.Inhibit))
	}
	if limits.Require >= 0 {
		ret.Set("requireExplicitPolicy", int64(limits.Require))
	}
	return ret, nil
}

func showSubtrees(der []byte) (*data.Map, error) {
	var s certificate.Subtrees
	if err := certificate.Whole(der, &s); err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for _, group := range []struct {
		title string
		list  []certificate.Subtree
	}{{"excluded", s.Excluded}, {"permitted", s.Permitted}} {
		var bases []asn1.RawValue
		for _, t := range group.list {
			bases = append(bases, t.Base)
		}
		names, err := showNames(bases)
		if err != nil {
			return nil, err
		}
		ret.Set(group.title, names)
	}
	return ret, nil
}
