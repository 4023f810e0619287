package draft

import (
	"encoding/asn1"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// subjectKey builds subjectKeyIdentifier: hash, or hex digits.
func subjectKey(a about, v any) (any, bool, error) {
	text, isText := v.(string)
	switch {
	case contains(v, "critical"):
		return nil, false, loader.Invocation("subjectKeyIdentifier must be marked as non-critical")
	case text == "hash" && a.subject == nil:
		return nil, false, loader.Exception("RuntimeError",
			"Cannot calculate digest for subjectKeyIdentifier: missing pubkey")
	case text == "hash":
		id, err := certificate.PublicID(a.subject)
		return id, false, err
	case isText:
		b, err := fromHex(strings.ReplaceAll(text, ":", ""))
		if err != nil {
			return nil, false, loader.Invocation("Value must be precomputed hash")
		}
		return b, false, nil
	}
	if b, ok := v.([]byte); ok {
		return b, false, nil
	}
	return nil, false, loader.Invocation("Value must be a (hex-)digest or pubkey")
}

// authorityKey builds authorityKeyIdentifier from the signing key, from the issuer and number of
// its certificate, or from both.
func authorityKey(a about, v any) (any, bool, error) {
	if contains(v, "critical") {
		return nil, false, loader.Invocation("authorityKeyIdentifier must be marked as non-critical")
	}
	if a.authority == nil && a.key == nil {
		return nil, false, loader.Exception("RuntimeError",
			"Need CA certificate or CA pubkey to calculate authorityKeyIdentifier")
	}
	asked, ok := v.(*data.Map)
	if text, is := v.(string); is {
		asked = data.NewMap()
		list, _ := pairsOf(text)
		for _, p := range list {
			asked.Set(p.name, p.value)
		}
	} else if !ok {
		return nil, false, loader.TypeError("authorityKeyIdentifier must be a string or a dictionary, not %s", loader.TypeName(v))
	}
	var out certificate.Authority
	if asked.Has("keyid") {
		if out.KeyID = a.keyID(); out.KeyID == nil && asked.Value("keyid") == "always" {
			return nil, false, loader.Execution("Could not retrieve authorityKeyIdentifier keyid, but it was set to always")
		}
	}
	how, issuer := asked.Get("issuer")
	if how == "always" || issuer && out.KeyID == nil {
		if a.authority != nil {
			out.Issuer = []asn1.RawValue{certificate.GeneralDirectory(a.authority.TBS.Issuer.FullBytes)}
			out.Serial = a.authority.TBS.Serial
		} else if how == "always" {
			return nil, false, loader.Execution("Could not add authority_cert_issuer and authority_cert_serial_number, but was set to always.")
		}
	}
	return out, false, nil
}

// keyID returns the identifier of the signing key; nil if it is unknown.
func (a about) keyID() []byte {
	key := a.key
	if a.authority != nil {
		if id := a.authority.KeyID(); id != nil {
			return id
		}
		key, _ = a.authority.PublicKey()
	}
	if key == nil {
		return nil
	}
	id, err := certificate.PublicID(key)
	if err != nil {
		return nil
	}
	return id
}
