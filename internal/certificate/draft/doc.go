// Package draft builds certificates, requests and revocation lists from the arguments of the module
// and the states x509_v2, and reads the files and texts that such arguments refer to
// (salt/utils/x509.py of 3006). Errors have Salt's class and text.
//
// Differences from Salt: issuer:copy works; names with an asterisk, an underscore or a port are
// accepted; a practice statement of a policy may be a single text; a notice needs no numbers;
// permitted names do not require excluded ones; and the start of revocation lists is in UTC.
package draft
