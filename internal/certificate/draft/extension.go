package draft

import (
	"crypto"
	"crypto/x509/pkix"
	"encoding/asn1"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// A Kind is a kind of extension: its name among the arguments, and the objects that may have it.
type Kind struct {
	Word, OID string
	Cert      bool     // in certificates
	Request   bool     // in requests, and copied from them
	List      bool     // in revocation lists
	Entry     bool     // in entries of a revocation list
	Older     []string // names in the older module x509
	make      func(about, any) (value any, critical bool, err error)
}

// Kinds returns all kinds of extensions, in the order of a certificate (EXTENSIONS_OID).
func Kinds() []Kind {
	const all, cert = true, true
	older := func(words ...string) []string { return words }
	return []Kind{
		{"basicConstraints", certificate.OIDBasicConstraints, cert, all, false, false,
			older("X509v3 Basic Constraints"), constraints},
		{"keyUsage", certificate.OIDKeyUsage, cert, all, false, false,
			older("X509v3 Key Usage"), keyUsage},
		{"extendedKeyUsage", certificate.OIDExtendedKeyUsage, cert, all, false, false,
			older("X509v3 Extended Key Usage"), purposes},
		{"subjectKeyIdentifier", certificate.OIDSubjectKeyID, cert, all, false, false,
			older("X509v3 Subject Key Identifier"), subjectKey},
		{"authorityKeyIdentifier", certificate.OIDAuthorityKeyID, cert, false, all, false,
			older("X509v3 Authority Key Identifier"), authorityKey},
		{"issuerAltName", certificate.OIDIssuerAltName, cert, false, all, false,
			older("X509v3 Issuer Alternative Name", "issuserAltName"), issuerNames},
		{"authorityInfoAccess", certificate.OIDAuthorityInfoAccess, cert, false, all, false,
			older("Authority Information Access"), access},
		{"subjectAltName", certificate.OIDSubjectAltName, cert, all, false, false,
			older("X509v3 Subject Alternative Name"), subjectNames},
		{"crlDistributionPoints", certificate.OIDDistributionPoints, cert, false, false, false,
			older("X509v3 CRL Distribution Points"), points},
		{"issuingDistributionPoint", certificate.OIDIssuingDistributionPoint, false, false, all,
			false, older("X509v3 Issuing Distribution Point"), issuingPoint},
		{"certificatePolicies", certificate.OIDPolicies, cert, all, false, false,
			older("X509v3 Certificate Policies"), policies},
		{"policyConstraints", certificate.OIDPolicyConstraints, cert, all, false, false,
			older("X509v3 Policy Constraints"), policyLimits},
		{"inhibitAnyPolicy", certificate.OIDInhibitAnyPolicy, cert, all, false, false,
			older("X509v3 Inhibit Any Policy"), inhibitAny},
		{"nameConstraints", certificate.OIDNameConstraints, cert, all, false, false,
			older("X509v3 Name Constraints"), subtrees},
		{"noCheck", certificate.OIDNoCheck, cert, all, false, false,
			older("OCSP No Check"), noCheck},
		{"tlsfeature", certificate.OIDFeatures, cert, all, false, false,
			older("TLS Feature"), features},
		{"nsComment", "", cert, all, false, false, older("Netscape Comment"), refused("nsComment")},
		{"nsCertType", "", cert, all, false, false, older("Netscape Certificate Type"),
			refused("nsCertType")},
		{"cRLNumber", certificate.OIDListNumber, false, false, all, false,
			older("X509v3 CRLNumber"), listNumber},
		{"deltaCRLIndicator", certificate.OIDDeltaList, false, false, all, false,
			older("X509v3 Delta CRL Indicator"), deltaList},
		{"freshestCRL", certificate.OIDFreshestList, false, false, all, false,
			older("x509v3 Freshest CRL"), freshest},
		{"certificateIssuer", certificate.OIDCertificateIssuer, false, false, false, all, nil,
			issuerNames},
		{"CRLReason", certificate.OIDReason, false, false, false, all, nil, reason},
		{"invalidityDate", certificate.OIDInvalidityDate, false, false, false, all,
			nil, invalidity},
	}
}

// kindOf returns the kind with this name for which fits is true, nil if there is none.
func kindOf(word string, fits func(Kind) bool) *Kind {
	for _, k := range Kinds() {
		if k.Word == word && fits(k) {
			return &k
		}
	}
	return nil
}

// about holds the data that extensions may refer to: the key of the subject, and the signing
// certificate or key. Each may be nil.
type about struct {
	subject   crypto.PublicKey
	authority *certificate.Certificate
	key       crypto.PublicKey
}

// extension builds an extension from an argument.
func (k *Kind) extension(a about, v any) (pkix.Extension, error) {
	value, critical, err := k.make(a, v)
	if err != nil {
		return pkix.Extension{}, err
	}
	der, err := asn1.Marshal(value)
	if err != nil {
		return pkix.Extension{}, loader.Invocation("%s: %w", k.Word, err)
	}
	oid, _ := certificate.ParseOID(k.OID)
	return pkix.Extension{Id: oid, Critical: critical, Value: der}, nil
}

func refused(word string) func(about, any) (any, bool, error) {
	return func(about, any) (any, bool, error) {
		return nil, false, loader.Invocation("%s is currently not implemented.", word)
	}
}

// Modern renames arguments from the names of the older module.
func Modern(args *data.Map) {
	rename := func(word string, older []string) {
		for _, old := range older {
			if v, ok := args.Get(old); ok {
				args.Delete(old)
				args.Set(word, v)
			}
		}
	}
	for _, f := range fields() {
		rename(f.Word, f.Older)
	}
	for _, k := range Kinds() {
		rename(k.Word, k.Older)
	}
}
