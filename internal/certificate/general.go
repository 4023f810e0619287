package certificate

import (
	"encoding/asn1"
	"errors"
	"fmt"
)

// Kinds of general names, by their tags (RFC 5280, 4.2.1.6).
const (
	NameEmail     = 1
	NameDNS       = 2
	NameDirectory = 4
	NameURI       = 6
	NameIP        = 7
	NameID        = 8
)

// errGeneral reports bytes that are not a general name.
var errGeneral = errors.New("not a general name")

// General returns a general name of a kind with this content: text, or an address with or without
// its mask.
func General(kind int, content []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: kind, Bytes: content}
}

// GeneralDirectory returns a general name for a distinguished name in DER.
func GeneralDirectory(name []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: NameDirectory,
		IsCompound: true, Bytes: name}
}

// GeneralID returns a general name for an object identifier.
func GeneralID(oid asn1.ObjectIdentifier) (asn1.RawValue, error) {
	var inner asn1.RawValue
	der, err := asn1.Marshal(oid)
	if err == nil {
		err = Whole(der, &inner)
	}
	return General(NameID, inner.Bytes), err
}

// RegisteredID returns the object identifier in a general name of the kind NameID.
func RegisteredID(n asn1.RawValue) (asn1.ObjectIdentifier, error) {
	if len(n.Bytes) > 100 {
		return nil, fmt.Errorf("%w: %d bytes of an object identifier", errGeneral, len(n.Bytes))
	}
	var oid asn1.ObjectIdentifier
	err := Whole(append([]byte{asn1.TagOID, byte(len(n.Bytes))}, n.Bytes...), &oid)
	return oid, err
}
