package x509

import (
	"encoding/asn1"
	"strings"

	"github.com/brineproject/brine/internal/certificate"
)

type fullName struct {
	Names []asn1.RawValue `asn1:"tag:0"`
}

type fullPoint struct {
	Point fullName `asn1:"tag:0"`
}

func encodePoints(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var points []fullPoint
	for _, p := range list {
		n, err := encodeName(p.name, p.value)
		if err != nil {
			return nil, err
		}
		points = append(points, fullPoint{fullName{[]asn1.RawValue{n}}})
	}
	return points, nil
}

func showPoints(der []byte) (string, error) {
	var points []certificate.DistributionPoint
	if err := certificate.Whole(der, &points); err != nil {
		return "", err
	}
	var lines []string
	for _, p := range points {
		if len(p.Reasons.Bytes) > 0 || len(p.Point.Relative.FullBytes) > 0 {
			return "", errValue
		}
		for _, group := range []struct {
			title string
			names []asn1.RawValue
		}{{"Full Name:", p.Point.Names}, {"CRL Issuer:", p.Issuer}} {
			names, err := showNames(group.names)
			if err != nil {
				return "", err
			}
			if len(names) > 0 {
				lines = append(lines, group.title)
			}
			for _, n := range names {
				lines = append(lines, "  "+n)
			}
		}
	}
	return strings.Join(lines, "\n"), nil
}

func encodePolicies(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var policies []certificate.Policy
	for _, p := range list {
		word := p.name
		if word == "anyPolicy" || word == "X509v3 Any Policy" {
			word = "2.5.29.32.0"
		}
		oid, ok := certificate.ParseOID(word)
		if !ok || p.value != "" {
			return nil, errValue
		}
		policies = append(policies, certificate.Policy{ID: oid})
	}
	return policies, nil
}

func showPolicies(der []byte) (string, error) {
	var policies []certificate.Policy
	if err := certificate.Whole(der, &policies); err != nil {
		return "", err
	}
	var lines []string
	for _, p := range policies {
		id := p.ID.String()
		if id == "2.5.29.32.0" {
			id = "X509v3 Any Policy"
		}
		lines = append(lines, "Policy: "+id)
		for _, raw := range p.Qualifiers {
			var q certificate.Qualifier
			if err := certificate.Whole(raw.FullBytes, &q); err != nil ||
				q.ID.String() != "1.3.6.1.5.5.7.2.1" {
				return "", errValue
			}
			lines = append(lines, "  CPS: "+string(q.Value.Bytes))
		}
	}
	return strings.Join(lines, "\n"), nil
}
