package x509

import (
	"encoding/asn1"
	"fmt"
	"net/netip"
	"strings"

	"github.com/brineproject/brine/internal/certificate"
)

func accessMethods() []purpose {
	return []purpose{
		{"1.3.6.1.5.5.7.48.1", "OCSP", "OCSP"}, {"1.3.6.1.5.5.7.48.2", "caIssuers", "CA Issuers"},
		{"1.3.6.1.5.5.7.48.3", "ad_timestamping", "AD Time Stamping"}, {"1.3.6.1.5.5.7.48.5",
			"caRepository", "CA Repository"},
	}
}

func encodeAccess(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var places []certificate.Access
	for _, p := range list {
		method, kind, found := strings.Cut(p.name, ";")
		for _, known := range accessMethods() {
			if method == known.short || method == known.long {
				method = known.oid
			}
		}
		oid, ok := certificate.ParseOID(method)
		place, err := encodeName(kind, p.value)
		if !found || !ok || err != nil {
			return nil, errValue
		}
		places = append(places, certificate.Access{Method: oid, Place: place})
	}
	return places, nil
}

func showAccess(der []byte) (string, error) {
	var places []certificate.Access
	if err := certificate.Whole(der, &places); err != nil {
		return "", err
	}
	var lines []string
	for _, p := range places {
		method := p.Method.String()
		for _, known := range accessMethods() {
			if known.oid == method {
				method = known.long
				break
			}
		}
		name, err := showName(p.Place)
		if err != nil {
			return "", err
		}
		lines = append(lines, method+" - "+name)
	}
	return strings.Join(lines, "\n"), nil
}

func encodeAltNames(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(strings.ReplaceAll(text, "IP Address", "IP"))
	if err != nil {
		return nil, err
	}
	var names []asn1.RawValue
	for _, p := range list {
		one, err := encodeName(p.name, p.value)
		if err != nil {
			return nil, err
		}
		names = append(names, one)
	}
	return names, nil
}

func showAltNames(der []byte) (string, error) {
	var names []asn1.RawValue
	if err := certificate.Whole(der, &names); err != nil {
		return "", err
	}
	list, err := showNames(names)
	return strings.Join(list, ", "), err
}

// encodeName encodes a general name of the type DNS, email, URI, RID or IP.
func encodeName(kind, value string) (asn1.RawValue, error) {
	raw := asn1.RawValue{Class: asn1.ClassContextSpecific, Bytes: []byte(value)}
	ascii := !strings.ContainsFunc(value, func(r rune) bool { return r >= 0x80 })
	switch {
	case kind == "email" && ascii && value != "copy" && value != "move":
		raw.Tag = 1
	case kind == "DNS" && ascii:
		raw.Tag = 2
	case kind == "URI" && ascii:
		raw.Tag = 6
	case kind == "IP":
		ip, err := encodeIP(value)
		if err != nil {
			return raw, err
		}
		raw.Tag, raw.Bytes = 7, ip
	case kind == "RID":
		oid, ok := certificate.ParseOID(value)
		if !ok {
			return raw, errValue
		}
		der, err := asn1.Marshal(oid)
		if err != nil {
			return raw, err
		}
		raw.Tag, raw.Bytes = 8, der[2:]
	default:
		return raw, errValue
	}
	return raw, nil
}

// encodeIP encodes an address, or an address with a netmask.
func encodeIP(value string) ([]byte, error) {
	var out []byte
	for part := range strings.SplitSeq(value, "/") {
		ip, err := netip.ParseAddr(part)
		if err != nil {
			return nil, err
		}
		out = append(out, ip.AsSlice()...)
	}
	if len(out) != 4 && len(out) != 8 && len(out) != 16 && len(out) != 32 {
		return nil, errValue
	}
	return out, nil
}

func showNames(names []asn1.RawValue) ([]string, error) {
	var list []string
	for _, n := range names {
		text, err := showName(n)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func showName(n asn1.RawValue) (string, error) {
	switch n.Tag {
	case 0:
		return "othername:<unsupported>", nil
	case 1:
		return "email:" + string(n.Bytes), nil
	case 2:
		return "DNS:" + string(n.Bytes), nil
	case 3:
		return "X400Name:<unsupported>", nil
	case 4:
		dn, err := parseName(n.Bytes)
		return "DirName:" + dn.line(), err
	case 5:
		return "EdiPartyName:<unsupported>", nil
	case 6:
		return "URI:" + string(n.Bytes), nil
	case 7:
		return "IP Address:" + showIP(n.Bytes), nil
	case 8:
		if len(n.Bytes) > 100 {
			return "", errValue
		}
		var oid asn1.ObjectIdentifier
		err := certificate.Whole(append([]byte{asn1.TagOID, byte(len(n.Bytes))}, n.Bytes...), &oid)
		return "Registered ID:" + oid.String(), err
	}
	return "", errValue
}

func showIP(b []byte) string {
	switch len(b) {
	case 4:
		return netip.AddrFrom4([4]byte(b)).String()
	case 16:
		var parts []string
		for i := 0; i < 16; i += 2 {
			parts = append(parts, fmt.Sprintf("%X", int(b[i])<<8|int(b[i+1])))
		}
		return strings.Join(parts, ":")
	}
	return "<invalid>"
}
