package certificate

import (
	"encoding/asn1"
	"fmt"
	"strconv"
	"strings"
)

// Whole decodes DER and rejects trailing data.
func Whole(der []byte, v any) error {
	rest, err := asn1.Unmarshal(der, v)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	return err
}

// ParseOID parses an object identifier in dotted form, and reports whether it is valid.
func ParseOID(text string) (asn1.ObjectIdentifier, bool) {
	var oid asn1.ObjectIdentifier
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || part[0] == '+' {
			return nil, false
		}
		oid = append(oid, n)
	}
	return oid, len(oid) >= 2 && oid[0] <= 2 && (oid[0] == 2 || oid[1] < 40)
}

// known is ParseOID for an identifier that is a constant of this program.
func known(text string) asn1.ObjectIdentifier {
	oid, _ := ParseOID(text)
	return oid
}

// Hex returns bytes as upper-case hex digits separated by colons.
func Hex(b []byte) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = fmt.Sprintf("%02X", c)
	}
	return strings.Join(parts, ":")
}
