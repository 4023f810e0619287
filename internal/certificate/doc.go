// Package certificate reads, builds and signs the objects of X.509: certificates, requests for
// them, revocation lists, names, extensions and keys (RFC 5280, RFC 2986), and the containers
// PKCS#7 (RFC 2315), PKCS#8 (RFC 5958) and PKCS#12 (RFC 7292).
//
// Structures follow the standards and are not validated while they are read: crypto/x509 rejects
// what tools have written for decades, and cannot write all of it. Keys are RSA, NIST curves and
// Ed25519; Ed448 is rejected, because Go does not support it.
package certificate
