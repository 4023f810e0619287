package x509

import (
	"encoding/asn1"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/brineproject/brine/internal/certificate"
)

func encodeKeyID(_ *certificate.Certificate, text string) (any, error) {
	return hex.DecodeString(strings.ReplaceAll(text, ":", ""))
}

func showKeyID(der []byte) (string, error) {
	var id []byte
	err := certificate.Whole(der, &id)
	return certificate.Hex(id), err
}

func encodeAuthority(issuer *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	asked := map[string]string{}
	for _, p := range list {
		if p.name != "keyid" && p.name != "issuer" || p.value != "" && p.value != "always" &&
			p.value != "nonss" {
			return nil, errValue
		}
		asked[p.name] = p.value
	}
	var a certificate.Authority
	how, keyID := asked["keyid"]
	if keyID {
		a.KeyID = issuer.KeyID()
		if a.KeyID == nil && how == "always" {
			return nil, errValue
		}
	}
	if how, ok := asked["issuer"]; ok && (a.KeyID == nil || how == "always") {
		a.Issuer = []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true,
			Bytes: issuer.TBS.Issuer.FullBytes}}
		a.Serial = issuer.TBS.Serial
	}
	return a, nil
}

func showAuthority(der []byte) (string, error) {
	var a certificate.Authority
	if err := certificate.Whole(der, &a); err != nil {
		return "", err
	}
	var lines []string
	if a.KeyID != nil {
		lines = append(lines, "keyid:"+certificate.Hex(a.KeyID))
	}
	names, err := showNames(a.Issuer)
	if err != nil {
		return "", err
	}
	lines = append(lines, names...)
	if a.Serial != nil {
		lines = append(lines, "serial:"+serialText(a.Serial))
	}
	return strings.Join(lines, "\n"), nil
}

// serialText returns a serial number in hexadecimal with colons.
func serialText(n *big.Int) string {
	if n.Sign() == 0 {
		return "00"
	}
	text := certificate.Hex(n.Bytes())
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}
