package draft

import (
	"encoding/asn1"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// constraints builds basicConstraints.
func constraints(_ about, v any) (any, bool, error) {
	m, ok := v.(*data.Map)
	critical := ok && data.Truth(m.Value("critical"))
	if text, is := v.(string); is {
		var err error
		if m, critical, err = constraintWords(strings.ToLower(text)); err != nil {
			return nil, false, loader.Invocation("Invalid configuration for basicContraints: %w",
				err)
		}
	} else if !ok {
		return nil, false, loader.Invocation("%s indices must be integers or slices, not str",
			loader.TypeName(v))
	}
	if !m.Has("ca") {
		return nil, false, loader.Invocation("Undefined required key for basicConstraints: 'ca'")
	}
	c := certificate.Constraints{PathLen: -1}
	if c.CA, ok = m.Value("ca").(bool); !ok {
		return nil, false, loader.Invocation("ca must be a boolean value")
	}
	switch n := m.Value("pathlen").(type) {
	case nil:
		return c, critical, nil
	case int64:
		c.PathLen = int(n)
	default:
		c.PathLen = -1
	}
	switch {
	case !c.CA:
		return nil, false, loader.Invocation("path_length must be None when ca is False")
	case c.PathLen < 0:
		return nil, false, loader.Invocation("path_length must be a non-negative integer or None")
	}
	return c, critical, nil
}

func constraintWords(text string) (*data.Map, bool, error) {
	list, critical := pairsOf(text)
	m := data.NewMap()
	for _, p := range list {
		m.Set(p.name, p.value)
	}
	if !m.Has("ca") {
		return nil, false, loader.Exception("KeyError", "'ca'")
	}
	m.Set("ca", m.Value("ca") == "true")
	if v, ok := m.Get("pathlen"); ok {
		n, err := strconv.ParseInt(data.Str(v), 10, 32)
		if err != nil {
			return nil, false, loader.Exception("ValueError",
				"invalid literal for int() with base 10: %s", data.Repr(v))
		}
		m.Set("pathlen", n)
	}
	return m, critical, nil
}

// keyUsage builds keyUsage from all words in the value.
func keyUsage(_ about, v any) (any, bool, error) {
	var set []int
	for i, word := range certificate.KeyUsages() {
		if contains(v, word) {
			set = append(set, i)
		}
	}
	const agreement, encipher, decipher = 4, 7, 8
	if (slices.Contains(set, encipher) || slices.Contains(set, decipher)) &&
		!slices.Contains(set, agreement) {
		return nil, false, loader.Invocation("encipher_only and decipher_only can only be true when key_agreement is true")
	}
	return certificate.Bits(set...), contains(v, "critical"), nil
}

// purposeOID returns the identifier of a word of extendedKeyUsage; "" for an unknown one.
func purposeOID(word string) string {
	const kp, ms = "1.3.6.1.5.5.7.3.", "1.3.6.1.4.1.311."
	return map[string]string{
		"serverAuth": kp + "1", "clientAuth": kp + "2", "codeSigning": kp +
			"3", "emailProtection": kp + "4", "timeStamping": kp + "8",
		"OCSPSigning": kp + "9", "ipsecIKE": kp + "17", "msSmartcardLogin": ms +
			"20.2.2", "pkInitKDC": "1.3.6.1.5.2.3.5", "msCodeInd": ms + "2.1.21", "msCodeCom": ms +
			"2.1.22", "msCTLSign": ms + "10.3.1", "msEFS": ms + "10.3.4",
	}[word]
}

// purposes builds extendedKeyUsage.
func purposes(_ about, v any) (any, bool, error) {
	critical := contains(v, "critical")
	var words []string
	switch v := v.(type) {
	case string:
		var list []pair
		list, critical = pairsOf(v)
		for _, p := range list {
			words = append(words, p.name)
		}
	case []any:
		for _, one := range v {
			words = append(words, data.Str(one))
		}
	default:
		words = []string{data.Str(v)}
	}
	oids := []asn1.ObjectIdentifier{}
	for _, word := range words {
		if word == "critical" {
			continue
		}
		if known := purposeOID(word); known != "" {
			word = known
		}
		oid, err := identifier(word)
		if err != nil {
			return nil, false, err
		}
		oids = append(oids, oid)
	}
	return oids, critical, nil
}

func noCheck(_ about, v any) (any, bool, error) {
	return asn1.NullRawValue, strings.Contains(data.Str(v), "critical"), nil
}

// features builds tlsfeature (RFC 7633, 4.1; the numbers are those of extensions of TLS).
func features(_ about, v any) (any, bool, error) {
	var words []string
	switch v := v.(type) {
	case string:
		for word := range strings.SplitSeq(v, ",") {
			words = append(words, strings.TrimSpace(word))
		}
	case []any:
		for _, one := range v {
			words = append(words, data.Str(one))
		}
	}
	list := []int{}
	for _, word := range words {
		switch word {
		case "critical":
		case "status_request":
			list = append(list, 5)
		case "status_request_v2":
			list = append(list, 17)
		default:
			return nil, false, loader.Exception("AttributeError", "%s", word)
		}
	}
	return list, slices.Contains(words, "critical"), nil
}
