// Package draft makes certificates, requests and revocation lists of the arguments that the module and the states x509_v2 take, and reads
// what such arguments refer to (salt/utils/x509.py of 3006). Errors are those of Salt: class and text.
//
// What differs from Salt: issuer:copy copies, names with an asterisk, an underscore or a port are taken, a practice statement of a policy may
// be one text, a notice needs no numbers, permitted names may stand without excluded ones, and revocation lists begin in UTC.
package draft
