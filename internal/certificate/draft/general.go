package draft

import (
	"encoding/asn1"
	"net/netip"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// A pair is a part of a value, split at its first colon.
type pair struct {
	name  string
	value any
}

// present is the value of a part without a colon.
const present = "__present__"

// pairsOf splits a text at its commas, and each part at its first colon. critical reports whether
// the text begins with that word.
func pairsOf(text string) (list []pair, critical bool) {
	if rest, ok := strings.CutPrefix(text, "critical"); ok {
		critical, text = true, strings.TrimSpace(strings.Trim(rest, ","))
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, colon := strings.Cut(strings.TrimSpace(part), ":")
		if !colon {
			value = present
		}
		list = append(list, pair{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return list, critical
}

// names returns the parts of a value that lists general names: a text, a list of texts or of
// dictionaries.
func names(v any) (list []pair, critical bool) {
	switch v := v.(type) {
	case string:
		return pairsOf(v)
	case []any:
		for _, one := range v {
			switch one := one.(type) {
			case string:
				if name, value, ok := strings.Cut(one, ":"); ok {
					list = append(list, pair{strings.TrimSpace(name), strings.TrimSpace(value)})
				}
			case *data.Map:
				for k, value := range one.All() {
					list = append(list, pair{data.Str(k), value})
				}
			}
		}
	case *data.Map:
		for k, value := range v.All() {
			if k != "critical" {
				list = append(list, pair{data.Str(k), value})
			}
		}
	}
	return list, contains(v, "critical")
}

// contains is Python's operator in, for a word.
func contains(v any, word string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, word)
	case []any:
		for _, one := range v {
			if one == word {
				return true
			}
		}
	case *data.Map:
		return v.Has(word)
	}
	return false
}

func generals(list []pair) ([]asn1.RawValue, error) {
	out := make([]asn1.RawValue, 0, len(list))
	for _, p := range list {
		n, err := general(strings.ToLower(p.name), p.value)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// generalTexts parses general names such as DNS:example.com; one text is a list of one.
func generalTexts(v any) ([]asn1.RawValue, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var parts []pair
	for _, one := range list {
		name, value, ok := strings.Cut(data.Str(one), ":")
		if !ok {
			return nil, loader.Exception("ValueError",
				"not enough values to unpack (expected 2, got 1)")
		}
		parts = append(parts, pair{name, value})
	}
	return generals(parts)
}

func general(kind string, v any) (asn1.RawValue, error) {
	if kind == "dirname" {
		n, err := Name(v)
		if err != nil {
			return asn1.RawValue{}, err
		}
		der, err := n.Marshal()
		return certificate.GeneralDirectory(der.FullBytes), err
	}
	text := data.Str(v)
	switch kind {
	case "rid":
		oid, err := identifier(text)
		if err != nil {
			return asn1.RawValue{}, err
		}
		return certificate.GeneralID(oid)
	case "ip":
		b, err := address(text)
		return certificate.General(certificate.NameIP, b), err
	case "email":
		name, err := mailbox(text)
		return certificate.General(certificate.NameEmail, []byte(name)), err
	case "uri":
		name, err := link(text)
		return certificate.General(certificate.NameURI, []byte(name)), err
	case "dns":
		name, err := hostname(text)
		return certificate.General(certificate.NameDNS, []byte(name)), err
	case "othername":
		return asn1.RawValue{}, loader.Invocation("otherName is currently not implemented")
	}
	return asn1.RawValue{}, loader.Execution("GeneralName type %s is invalid", kind)
}

// identifier parses an object identifier.
func identifier(text string) (asn1.ObjectIdentifier, error) {
	oid, ok := certificate.ParseOID(text)
	if !ok {
		return nil, loader.Execution("Invalid oid: %s", text)
	}
	return oid, nil
}

// address returns the bytes of an address, or of a network and its mask.
func address(text string) ([]byte, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		return ip.AsSlice(), nil
	}
	base, mask, _ := strings.Cut(text, "/")
	ip, err := netip.ParseAddr(base)
	if err == nil {
		if m, wrong := netip.ParseAddr(mask); wrong == nil && m.BitLen() == ip.BitLen() {
			return append(ip.AsSlice(), m.AsSlice()...), nil
		}
		var p netip.Prefix
		if p, err = netip.ParsePrefix(text); err == nil && p.Masked() == p {
			return append(ip.AsSlice(), maskBytes(p)...), nil
		}
	}
	return nil, loader.Execution("Provided value %s does not seem to be an IP address or network range.", text)
}

func maskBytes(p netip.Prefix) []byte {
	out := make([]byte, p.Addr().BitLen()/8)
	for i := range p.Bits() {
		out[i/8] |= 0x80 >> (i % 8)
	}
	return out
}

func mailbox(text string) (string, error) {
	at := strings.LastIndexByte(text, '@')
	host, err := hostname(text[at+1:])
	return text[:at+1] + host, err
}

// link returns a URL with its host encoded by IDNA.
func link(text string) (string, error) {
	start := strings.Index(text, "://")
	if start < 0 {
		return text, nil
	}
	start += len("://")
	end := len(text)
	if i := strings.IndexAny(text[start:], "/?#"); i >= 0 {
		end = start + i
	}
	host, err := hostname(text[start:end])
	return text[:start] + host + text[end:], err
}
