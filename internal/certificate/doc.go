// Package certificate reads, makes and signs what X.509 consists of: certificates, requests for them, revocation lists, names,
// extensions and keys (RFC 5280, RFC 2986), and the containers PKCS#7 (RFC 2315), PKCS#8 (RFC 5958) and PKCS#12 (RFC 7292).
//
// Structures are those of the standards and are not judged while they are read: crypto/x509 refuses what tools have written for decades,
// and cannot write all of it. Keys are RSA, on the curves of NIST, and Ed25519; Ed448 is refused, for Go has no such keys.
package certificate
