package x509

import (
	"encoding/asn1"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/certificate"
)

// A bit is a named bit of a bit string. Its index in the list is its number.
type bit struct{ short, long string }

func keyUsages() []bit {
	return []bit{
		{"digitalSignature", "Digital Signature"}, {"nonRepudiation", "Non Repudiation"},
		{"keyEncipherment", "Key Encipherment"},
		{"dataEncipherment", "Data Encipherment"}, {"keyAgreement", "Key Agreement"},
		{"keyCertSign", "Certificate Sign"},
		{"cRLSign", "CRL Sign"}, {"encipherOnly", "Encipher Only"}, {"decipherOnly",
			"Decipher Only"},
	}
}

func certTypes() []bit {
	return []bit{
		{"client", "SSL Client"}, {"server", "SSL Server"}, {"email", "S/MIME"}, {"objsign",
			"Object Signing"},
		{"reserved", "Unused"}, {"sslCA", "SSL CA"}, {"emailCA", "S/MIME CA"}, {"objCA",
			"Object Signing CA"},
	}
}

func bits(known []bit) func(*certificate.Certificate, string) (any, error) {
	return func(_ *certificate.Certificate, text string) (any, error) {
		list, err := pairs(text)
		if err != nil {
			return nil, err
		}
		var out asn1.BitString
		for _, p := range list {
			i := slices.IndexFunc(known, func(b bit) bool { return p.name == b.short || p.name == b.long })
			if i < 0 {
				return nil, errValue
			}
			for len(out.Bytes) <= i/8 {
				out.Bytes = append(out.Bytes, 0)
			}
			out.Bytes[i/8] |= 0x80 >> (i % 8)
			out.BitLength = max(out.BitLength, i+1)
		}
		return out, nil
	}
}

func showBits(known []bit) func([]byte) (string, error) {
	return func(der []byte) (string, error) {
		var b asn1.BitString
		if err := certificate.Whole(der, &b); err != nil {
			return "", err
		}
		var set []string
		for i, k := range known {
			if b.At(i) == 1 {
				set = append(set, k.long)
			}
		}
		return strings.Join(set, ", "), nil
	}
}

// A purpose is an extended key usage of a certificate.
type purpose struct{ oid, short, long string }

func purposes() []purpose {
	const kp, ms = "1.3.6.1.5.5.7.3.", "1.3.6.1.4.1.311."
	return []purpose{
		{kp + "1", "serverAuth", "TLS Web Server Authentication"}, {kp + "2", "clientAuth",
			"TLS Web Client Authentication"},
		{kp + "3", "codeSigning", "Code Signing"}, {kp + "4", "emailProtection",
			"E-mail Protection"},
		{kp + "5", "ipsecEndSystem", "IPSec End System"}, {kp + "6", "ipsecTunnel", "IPSec Tunnel"},
		{kp + "7", "ipsecUser", "IPSec User"},
		{kp + "8", "timeStamping", "Time Stamping"}, {kp + "9", "OCSPSigning", "OCSP Signing"},
		{kp + "17", "ipsecIKE", "ipsec Internet Key Exchange"},
		{ms + "2.1.21", "msCodeInd", "Microsoft Individual Code Signing"}, {ms + "2.1.22",
			"msCodeCom", "Microsoft Commercial Code Signing"},
		{ms + "10.3.1", "msCTLSign", "Microsoft Trust List Signing"}, {ms + "10.3.3", "msSGC",
			"Microsoft Server Gated Crypto"},
		{ms + "10.3.4", "msEFS", "Microsoft Encrypted File System"}, {ms + "20.2.2",
			"msSmartcardLogin", "Microsoft Smartcard Login"},
		{"2.16.840.1.113730.4.1", "nsSGC", "Netscape Server Gated Crypto"}, {"2.5.29.37.0",
			"anyExtendedKeyUsage", "Any Extended Key Usage"},
		{"1.3.6.1.5.2.3.4", "pkInitClientAuth", "PKINIT Client Auth"}, {"1.3.6.1.5.2.3.5",
			"pkInitKDC", "Signing KDC Response"},
	}
}

func encodePurposes(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var oids []asn1.ObjectIdentifier
	for _, p := range list {
		word := p.name
		for _, known := range purposes() {
			if p.name == known.short || p.name == known.long {
				word = known.oid
			}
		}
		oid, ok := certificate.ParseOID(word)
		if !ok {
			return nil, errValue
		}
		oids = append(oids, oid)
	}
	return oids, nil
}

func showPurposes(der []byte) (string, error) {
	var oids []asn1.ObjectIdentifier
	if err := certificate.Whole(der, &oids); err != nil {
		return "", err
	}
	var list []string
	for _, oid := range oids {
		text := oid.String()
		for _, known := range purposes() {
			if known.oid == text {
				text = known.long
				break
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, ", "), nil
}
