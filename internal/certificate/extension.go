package certificate

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
)

// Object identifiers of extensions (RFC 5280, sections 4.2 and 5.2; RFC 6960; RFC 7633).
const (
	OIDSubjectKeyID             = "2.5.29.14"
	OIDKeyUsage                 = "2.5.29.15"
	OIDSubjectAltName           = "2.5.29.17"
	OIDIssuerAltName            = "2.5.29.18"
	OIDBasicConstraints         = "2.5.29.19"
	OIDListNumber               = "2.5.29.20"
	OIDReason                   = "2.5.29.21"
	OIDInvalidityDate           = "2.5.29.24"
	OIDDeltaList                = "2.5.29.27"
	OIDIssuingDistributionPoint = "2.5.29.28"
	OIDCertificateIssuer        = "2.5.29.29"
	OIDNameConstraints          = "2.5.29.30"
	OIDDistributionPoints       = "2.5.29.31"
	OIDPolicies                 = "2.5.29.32"
	OIDAuthorityKeyID           = "2.5.29.35"
	OIDPolicyConstraints        = "2.5.29.36"
	OIDExtendedKeyUsage         = "2.5.29.37"
	OIDFreshestList             = "2.5.29.46"
	OIDInhibitAnyPolicy         = "2.5.29.54"
	OIDAuthorityInfoAccess      = "1.3.6.1.5.5.7.1.1"
	OIDFeatures                 = "1.3.6.1.5.5.7.1.24"
	OIDNoCheck                  = "1.3.6.1.5.5.7.48.1.5"
)

// The values of extensions (RFC 5280, section 4.2.1).
type (
	// Constraints say whether a certificate may sign others, and the maximum length of a chain; -1
	// means any.
	Constraints struct {
		CA      bool `asn1:"optional"`
		PathLen int  `asn1:"optional,default:-1"`
	}
	// An Authority identifies the key that signed.
	Authority struct {
		KeyID  []byte          `asn1:"optional,tag:0"`
		Issuer []asn1.RawValue `asn1:"optional,omitempty,tag:1"`
		Serial *big.Int        `asn1:"optional,tag:2"`
	}
	// An Access is a location of information about the issuer.
	Access struct {
		Method asn1.ObjectIdentifier
		Place  asn1.RawValue
	}
	// A Distribution is the location of a revocation list: names, or a name relative to that of the
	// issuer.
	Distribution struct {
		Names    []asn1.RawValue `asn1:"optional,omitempty,tag:0"`
		Relative asn1.RawValue   `asn1:"optional,tag:1"`
	}
	// A DistributionPoint is a location of revocation lists, with their reasons and their issuer.
	DistributionPoint struct {
		Point   Distribution    `asn1:"optional,tag:0"`
		Reasons asn1.BitString  `asn1:"optional,tag:1"`
		Issuer  []asn1.RawValue `asn1:"optional,omitempty,tag:2"`
	}
	// An IssuingPoint describes the scope of a revocation list.
	IssuingPoint struct {
		Point     Distribution   `asn1:"optional,tag:0"`
		Users     bool           `asn1:"optional,tag:1"`
		CAs       bool           `asn1:"optional,tag:2"`
		Reasons   asn1.BitString `asn1:"optional,tag:3"`
		Indirect  bool           `asn1:"optional,tag:4"`
		Attribute bool           `asn1:"optional,tag:5"`
	}
	// A Policy is a policy under which a certificate was issued.
	Policy struct {
		ID         asn1.ObjectIdentifier
		Qualifiers []asn1.RawValue `asn1:"optional,omitempty"`
	}
	// A Qualifier gives details of a policy.
	Qualifier struct {
		ID    asn1.ObjectIdentifier
		Value asn1.RawValue
	}
	// PolicyLimits limit policies further down the chain; -1 means no limit.
	PolicyLimits struct {
		Require int `asn1:"optional,tag:0,default:-1"`
		Inhibit int `asn1:"optional,tag:1,default:-1"`
	}
	// A Subtree is a part of the names that a certificate may sign.
	Subtree struct {
		Base asn1.RawValue
		Min  int `asn1:"optional,tag:0"`
		Max  int `asn1:"optional,tag:1"`
	}
	// Subtrees hold the names that a certificate may sign.
	Subtrees struct {
		Permitted []Subtree `asn1:"optional,omitempty,tag:0"`
		Excluded  []Subtree `asn1:"optional,omitempty,tag:1"`
	}
)

// ExtensionOf returns the extension with that identifier, nil if there is none.
func ExtensionOf(list []pkix.Extension, oid asn1.ObjectIdentifier) *pkix.Extension {
	for i := range list {
		if list[i].Id.Equal(oid) {
			return &list[i]
		}
	}
	return nil
}

// KeyUsages returns the names of the bits of the extension keyUsage, from the first.
func KeyUsages() []string {
	return []string{"digitalSignature", "nonRepudiation", "keyEncipherment", "dataEncipherment",
		"keyAgreement", "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly"}
}

// Bits returns a bit string with these bits set, without trailing zeros.
func Bits(which ...int) asn1.BitString {
	out := asn1.BitString{}
	for _, i := range which {
		for len(out.Bytes) <= i/8 {
			out.Bytes = append(out.Bytes, 0)
		}
		out.Bytes[i/8] |= 0x80 >> (i % 8)
		out.BitLength = max(out.BitLength, i+1)
	}
	return out
}

// Reasons returns the reasons for a revocation (RFC 5280, 5.3.1). Code is the number in a
// revocation list, Bit the position in a distribution point; -1 if there is none.
func Reasons() []Reason {
	return []Reason{
		{"unspecified", 0, -1}, {"keyCompromise", 1, 1}, {"cACompromise", 2, 2},
		{"affiliationChanged", 3, 3}, {"superseded", 4, 4},
		{"cessationOfOperation", 5, 5}, {"certificateHold", 6, 6}, {"removeFromCRL", 8, -1},
		{"privilegeWithdrawn", 9, 7}, {"aACompromise", 10, 8},
	}
}

// A Reason is a reason for revoking a certificate.
type Reason struct {
	Word      string
	Code, Bit int
}

// Word returns the name of an object identifier in Python's cryptography library; "" if unknown.
func Word(oid string) string {
	words := map[string]string{
		OIDSubjectKeyID: "subjectKeyIdentifier", OIDKeyUsage: "keyUsage",
		OIDSubjectAltName: "subjectAltName", OIDIssuerAltName: "issuerAltName",
		OIDBasicConstraints: "basicConstraints", OIDListNumber: "cRLNumber", OIDReason: "cRLReason",
		OIDInvalidityDate: "invalidityDate", OIDDeltaList: "deltaCRLIndicator",
		OIDIssuingDistributionPoint: "issuingDistributionPoint",
		OIDCertificateIssuer:        "certificateIssuer", OIDNameConstraints: "nameConstraints",
		OIDDistributionPoints: "cRLDistributionPoints", OIDPolicies: "certificatePolicies",
		OIDAuthorityKeyID: "authorityKeyIdentifier", OIDPolicyConstraints: "policyConstraints",
		OIDExtendedKeyUsage: "extendedKeyUsage", OIDFreshestList: "freshestCRL",
		OIDInhibitAnyPolicy: "inhibitAnyPolicy", OIDAuthorityInfoAccess: "authorityInfoAccess",
		OIDFeatures: "TLSFeature", OIDNoCheck: "OCSPNoCheck", "2.5.29.33": "policyMappings",
		"2.5.29.9":                "subjectDirectoryAttributes",
		"1.3.6.1.5.5.7.1.11":      "subjectInfoAccess",
		"1.3.6.1.4.1.11129.2.4.2": "signedCertificateTimestampList",
		"1.3.6.1.4.1.11129.2.4.3": "ctPoison", "1.3.6.1.5.5.7.3.1": "serverAuth",
		"1.3.6.1.5.5.7.3.2": "clientAuth", "1.3.6.1.5.5.7.3.3": "codeSigning",
		"1.3.6.1.5.5.7.3.4": "emailProtection", "1.3.6.1.5.5.7.3.8": "timeStamping",
		"1.3.6.1.5.5.7.3.9": "OCSPSigning", "1.3.6.1.4.1.311.20.2.2": "msSmartcardLogin",
		"1.3.6.1.5.2.3.5": "pkInitKDC", "1.3.6.1.5.5.7.48.1": "OCSP",
		"1.3.6.1.5.5.7.48.2": "caIssuers", "1.3.6.1.5.5.7.48.5": "caRepository",
		"1.2.840.113549.1.1.4": "md5WithRSAEncryption",
		"1.2.840.113549.1.1.5": "sha1WithRSAEncryption", "1.2.840.113549.1.1.10": "RSASSA-PSS",
		"1.2.840.113549.1.1.11": "sha256WithRSAEncryption",
		"1.2.840.113549.1.1.12": "sha384WithRSAEncryption",
		"1.2.840.113549.1.1.13": "sha512WithRSAEncryption",
		"1.2.840.113549.1.1.14": "sha224WithRSAEncryption",
		"1.2.840.10045.4.1":     "ecdsa-with-SHA1", "1.2.840.10045.4.3.1": "ecdsa-with-SHA224",
		"1.2.840.10045.4.3.2": "ecdsa-with-SHA256", "1.2.840.10045.4.3.3": "ecdsa-with-SHA384",
		"1.2.840.10045.4.3.4": "ecdsa-with-SHA512", "1.3.101.112": "ed25519",
		"1.3.101.113": "ed448",
	}
	return words[oid]
}
