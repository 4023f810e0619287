package certificate

import (
	"crypto/x509/pkix"
	"strings"
)

// ExtensionWord returns OpenSSL's short name of an extension, UNDEF for one that it does not know.
func ExtensionWord(oid string) string {
	switch word := Word(oid); {
	case oid == "1.3.6.1.5.5.7.1.1":
		return "authorityInfoAccess"
	case oid == "2.16.840.1.113730.1.13":
		return "nsComment"
	case oid == "2.16.840.1.113730.1.1":
		return "nsCertType"
	case oid == "1.3.6.1.4.1.11129.2.4.2":
		return "ct_precert_scts"
	case word != "":
		return word
	}
	return "UNDEF"
}

// AttributeWord returns OpenSSL's short name of a part of a name, UNDEF for one that it does not know.
func AttributeWord(oid string) string {
	switch oid {
	case "1.2.840.113549.1.9.1":
		return "emailAddress"
	case "0.9.2342.19200300.100.1.25":
		return "DC"
	case "0.9.2342.19200300.100.1.1":
		return "UID"
	}
	words := map[string]string{"3": "CN", "4": "SN", "5": "serialNumber", "6": "C", "7": "L", "8": "ST",
		"9": "street", "10": "O", "11": "OU", "12": "title", "13": "description", "15": "businessCategory",
		"17": "postalCode", "41": "name", "42": "GN", "43": "initials", "44": "generationQualifier",
		"46": "dnQualifier", "65": "pseudonym", "97": "organizationIdentifier"}
	if last, ok := strings.CutPrefix(oid, "2.5.4."); ok && words[last] != "" {
		return words[last]
	}
	return "UNDEF"
}

// AlgorithmWord returns OpenSSL's long name of a signature algorithm, its number for one that Brine does
// not know.
func AlgorithmWord(id pkix.AlgorithmIdentifier) string {
	a := AlgorithmOf(id.Algorithm)
	if a == nil {
		return id.Algorithm.String()
	}
	hash := strings.ReplaceAll(a.Hash.String(), "-", "")
	switch a.Key {
	case "rsa":
		return strings.ToLower(hash) + "WithRSAEncryption"
	case "ec":
		return "ecdsa-with-" + hash
	}
	return strings.ToUpper(a.Key)
}
