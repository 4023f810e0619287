package draft

import (
	"encoding/asn1"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// points builds crlDistributionPoints.
func points(_ about, v any) (any, bool, error) {
	critical := contains(v, "critical")
	if text, ok := v.(string); ok {
		_, critical = pairsOf(text)
	}
	out, err := pointList(v)
	return out, critical, err
}

// freshest builds freshestCRL, which is never critical.
func freshest(_ about, v any) (any, bool, error) {
	out, err := pointList(v)
	return out, false, err
}

// pointList parses distribution points: each is a general name, or a dictionary of fullname,
// relativename, crlissuer and reasons.
func pointList(v any) ([]certificate.DistributionPoint, error) {
	items := []any{v}
	switch v := v.(type) {
	case []any:
		items = v
	case string:
		list, _ := pairsOf(v)
		items = nil
		for _, p := range list {
			items = append(items, p.name+":"+data.Str(p.value))
		}
	}
	out := []certificate.DistributionPoint{}
	for _, item := range items {
		if item == "critical" {
			continue
		}
		one, err := point(item)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func point(item any) (p certificate.DistributionPoint, err error) {
	m, ok := item.(*data.Map)
	if !ok {
		p.Point, err = place(trimmed(data.Str(item)), nil)
		return p, err
	}
	if p.Point, err = place(m.Value("fullname"), m.Value("relativename")); err != nil {
		return p, err
	}
	if v := m.Value("crlissuer"); data.Truth(v) {
		if p.Issuer, err = generalTexts(v); err != nil {
			return p, err
		}
	}
	if p.Reasons, err = reasonBits(m.Value("reasons")); err != nil {
		return p, err
	}
	if len(p.Issuer) == 0 && len(p.Point.Names) == 0 && p.Point.Relative.Bytes == nil {
		return p, loader.Invocation("You must supply crl_issuer, full_name, or relative_name when reasons is not None")
	}
	return p, nil
}

// trimmed removes blanks around the colon of a general name.
func trimmed(text string) string {
	kind, value, ok := strings.Cut(text, ":")
	if !ok {
		return text
	}
	return strings.TrimSpace(kind) + ":" + strings.TrimSpace(value)
}

// place returns the location of a list: full names, or a name relative to the issuer's.
func place(full, relativeName any) (d certificate.Distribution, err error) {
	if data.Truth(full) && data.Truth(relativeName) {
		return d, loader.Invocation("You cannot provide both full_name and relative_name, at least one must be None.")
	}
	if data.Truth(full) {
		d.Names, err = generalTexts(full)
	}
	if data.Truth(relativeName) {
		set, wrong := relative(relativeName)
		if wrong != nil {
			return d, wrong
		}
		var inner asn1.RawValue
		n, wrong := certificate.Name{set}.Marshal()
		if wrong == nil {
			wrong = certificate.Whole(n.FullBytes, &inner)
		}
		var attributes asn1.RawValue
		if wrong == nil {
			wrong = certificate.Whole(inner.Bytes, &attributes)
		}
		d.Relative = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true,
			Bytes: attributes.Bytes}
		err = wrong
	}
	return d, err
}

func reasonBits(v any) (asn1.BitString, error) {
	list, _ := v.([]any)
	if text, ok := v.(string); ok && text != "" {
		list = []any{text}
	}
	var set []int
	for _, one := range list {
		r, err := reasonOf(data.Str(one))
		if err != nil {
			return asn1.BitString{}, err
		}
		if r.Bit < 0 {
			return asn1.BitString{}, loader.Invocation("unspecified and remove_from_crl are not valid reasons in a DistributionPoint")
		}
		set = append(set, r.Bit)
	}
	return certificate.Bits(set...), nil
}

func reasonOf(word string) (certificate.Reason, error) {
	for _, r := range certificate.Reasons() {
		if r.Word == word {
			return r, nil
		}
	}
	return certificate.Reason{}, loader.Invocation("%s is not a valid ReasonFlags", data.Repr(word))
}

// issuingPoint builds issuingDistributionPoint.
func issuingPoint(_ about, v any) (any, bool, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return nil, false, loader.Invocation("issuingDistributionPoint must be a dictionary")
	}
	out := certificate.IssuingPoint{Users: data.Truth(m.Value("onlyuser")),
		CAs: data.Truth(m.Value("onlyCA")), Attribute: data.Truth(m.Value("onlyAA")),
		Indirect: data.Truth(m.Value("indirectCRL"))}
	var err error
	if out.Point, err = place(m.Value("fullname"), m.Value("relativename")); err != nil {
		return nil, false, err
	}
	if out.Reasons, err = reasonBits(m.Value("onlysomereasons")); err != nil {
		return nil, false, err
	}
	kinds := 0
	for _, on := range []bool{out.Users, out.CAs, out.Attribute, out.Indirect} {
		if on {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return nil, false, loader.Invocation("Only one of the following can be set to True: only_contains_user_certs, only_contains_ca_certs, " +
			"indirect_crl, only_contains_attribute_certs")
	case kinds == 0 && len(out.Point.Names) == 0 && out.Point.Relative.Bytes == nil &&
		out.Reasons.BitLength == 0:
		return nil, false, loader.Invocation("Cannot create empty extension: if only_contains_user_certs, only_contains_ca_certs, indirect_crl, and " +
			"only_contains_attribute_certs are all False, then either full_name, relative_name, or only_some_reasons must have a value.")
	}
	return out, data.Truth(m.Value("critical")), nil
}
