package x509

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An extension is a kind of extension: its names, and how its value is read from arguments and shown.
type extension struct {
	short, long, oid string
	encode           func(issuer *certificate, value string) (any, error)
	show             func(der []byte) (string, error)
}

// extensions are those that arguments may set, in the order in which they stand in a certificate.
func extensions() []extension {
	return []extension{
		{"basicConstraints", "X509v3 Basic Constraints", "2.5.29.19", encodeConstraints, showConstraints},
		{"keyUsage", "X509v3 Key Usage", "2.5.29.15", bits(keyUsages()), showBits(keyUsages())},
		{"extendedKeyUsage", "X509v3 Extended Key Usage", "2.5.29.37", encodePurposes, showPurposes},
		{"subjectKeyIdentifier", "X509v3 Subject Key Identifier", "2.5.29.14", encodeKeyID, showKeyID},
		{"authorityKeyIdentifier", "X509v3 Authority Key Identifier", "2.5.29.35", encodeAuthority, showAuthority},
		{"issuerAltName", "X509v3 Issuer Alternative Name", "2.5.29.18", encodeAltNames, showAltNames},
		{"authorityInfoAccess", "X509v3 Authority Info Access", "1.3.6.1.5.5.7.1.1", encodeAccess, showAccess},
		{"subjectAltName", "X509v3 Subject Alternative Name", "2.5.29.17", encodeAltNames, showAltNames},
		{"crlDistributionPoints", "X509v3 CRL Distribution Points", "2.5.29.31", encodePoints, showPoints},
		{"issuingDistributionPoint", "X509v3 Issuing Distribution Point", "2.5.29.28", refuse, nil},
		{"certificatePolicies", "X509v3 Certificate Policies", "2.5.29.32", encodePolicies, showPolicies},
		{"policyConstraints", "X509v3 Policy Constraints", "2.5.29.36", encodePolicyLimits, showPolicyLimits},
		{"inhibitAnyPolicy", "X509v3 Inhibit Any Policy", "2.5.29.54", encodeNumber, showNumber},
		{"nameConstraints", "X509v3 Name Constraints", "2.5.29.30", encodeSubtrees, showSubtrees},
		{"noCheck", "X509v3 OCSP No Check", "1.3.6.1.5.5.7.48.1.5", encodeNull, showNull},
		{"nsComment", "Netscape Comment", "2.16.840.1.113730.1.13", encodeComment, showComment},
		{"nsCertType", "Netscape Certificate Type", "2.16.840.1.113730.1.1", bits(certTypes()), showBits(certTypes())},
	}
}

var errValue = errors.New("the value is not understood")

func refuse(*certificate, string) (any, error) { return nil, errValue }

// newExtension encodes the value of an argument. Before the value may stand "critical ", and DER: before its hex digits.
func (e *extension) newExtension(issuer *certificate, value string) (pkix.Extension, error) {
	text, critical := strings.CutPrefix(value, "critical ")
	oid, _ := parseOID(e.oid)
	bad := loader.Exception("M2Crypto.X509.X509Error", "Cannot create X509_Extension with name '%s' and value '%s'", e.short, text)
	if digits, ok := strings.CutPrefix(text, "DER:"); ok {
		der, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
		if err != nil {
			return pkix.Extension{}, bad
		}
		return pkix.Extension{Id: oid, Critical: critical, Value: der}, nil
	}
	if e.short == "subjectKeyIdentifier" && strings.Trim(text, "0123456789abcdefABCDEF:") != "" {
		return pkix.Extension{}, loader.Invocation("value must be precomputed hash")
	}
	v, err := e.encode(issuer, text)
	if err != nil {
		return pkix.Extension{}, bad
	}
	der, err := asn1.Marshal(v)
	if err != nil {
		return pkix.Extension{}, bad
	}
	return pkix.Extension{Id: oid, Critical: critical, Value: der}, nil
}

// extensionOf returns the kind with this object identifier, or nil.
func extensionOf(oid asn1.ObjectIdentifier) *extension {
	list := extensions()
	if i := slices.IndexFunc(list, func(e extension) bool { return e.oid == oid.String() }); i >= 0 {
		return &list[i]
	}
	return nil
}

// showExtension returns the value of an extension as OpenSSL prints it, with "critical " before it where it is; what has no known form,
// or not that which it should have, comes as hex digits.
func showExtension(x pkix.Extension) (short, long, text string) {
	short, long, text = x.Id.String(), x.Id.String(), prettyHex(x.Value)
	if e := extensionOf(x.Id); e != nil {
		short, long = e.short, e.long
		if e.show != nil {
			if s, err := e.show(x.Value); err == nil {
				text = s
			}
		}
	}
	if x.Critical {
		text = "critical " + text
	}
	return short, long, text
}

// showExtensions returns the values of extensions by their names.
func showExtensions(list []pkix.Extension) *data.Map {
	m := data.NewMap()
	for _, x := range list {
		short, _, text := showExtension(x)
		m.Set(short, text)
	}
	return m
}

// pair is a part of a value: its name, and what stands behind the colon.
type pair struct{ name, value string }

// pairs splits a value at its commas, and each part at its first colon, as OpenSSL reads its configuration.
func pairs(text string) ([]pair, error) {
	var list []pair
	for part := range strings.SplitSeq(text, ",") {
		name, value, colon := strings.Cut(part, ":")
		p := pair{strings.TrimSpace(name), strings.TrimSpace(value)}
		if p.name == "" || colon && p.value == "" {
			return nil, errValue
		}
		list = append(list, p)
	}
	return list, nil
}

func parseOID(text string) (asn1.ObjectIdentifier, bool) {
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

type constraints struct {
	CA      bool `asn1:"optional"`
	PathLen int  `asn1:"optional,default:-1"`
}

func encodeConstraints(_ *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	c := constraints{PathLen: -1}
	for _, p := range list {
		switch p.name {
		case "CA":
			c.CA, err = truth(p.value)
		case "pathlen":
			c.PathLen, err = strconv.Atoi(p.value)
			if c.PathLen < 0 {
				err = errValue
			}
		default:
			err = errValue
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func truth(text string) (bool, error) {
	switch text {
	case "TRUE", "true", "Y", "y", "YES", "yes":
		return true, nil
	case "FALSE", "false", "N", "n", "NO", "no":
		return false, nil
	}
	return false, errValue
}

func showConstraints(der []byte) (string, error) {
	var c constraints
	if err := whole(der, &c); err != nil {
		return "", err
	}
	text := "CA:" + strings.ToUpper(strconv.FormatBool(c.CA))
	if c.PathLen >= 0 {
		text += ", pathlen:" + strconv.Itoa(c.PathLen)
	}
	return text, nil
}

// A bit is a named bit of a bit string; its place in the list is its number.
type bit struct{ short, long string }

func keyUsages() []bit {
	return []bit{
		{"digitalSignature", "Digital Signature"}, {"nonRepudiation", "Non Repudiation"}, {"keyEncipherment", "Key Encipherment"},
		{"dataEncipherment", "Data Encipherment"}, {"keyAgreement", "Key Agreement"}, {"keyCertSign", "Certificate Sign"},
		{"cRLSign", "CRL Sign"}, {"encipherOnly", "Encipher Only"}, {"decipherOnly", "Decipher Only"},
	}
}

func certTypes() []bit {
	return []bit{
		{"client", "SSL Client"}, {"server", "SSL Server"}, {"email", "S/MIME"}, {"objsign", "Object Signing"},
		{"reserved", "Unused"}, {"sslCA", "SSL CA"}, {"emailCA", "S/MIME CA"}, {"objCA", "Object Signing CA"},
	}
}

func bits(known []bit) func(*certificate, string) (any, error) {
	return func(_ *certificate, text string) (any, error) {
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
		if err := whole(der, &b); err != nil {
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

// A purpose is what a certificate may be used for.
type purpose struct{ oid, short, long string }

func purposes() []purpose {
	const kp, ms = "1.3.6.1.5.5.7.3.", "1.3.6.1.4.1.311."
	return []purpose{
		{kp + "1", "serverAuth", "TLS Web Server Authentication"}, {kp + "2", "clientAuth", "TLS Web Client Authentication"},
		{kp + "3", "codeSigning", "Code Signing"}, {kp + "4", "emailProtection", "E-mail Protection"},
		{kp + "5", "ipsecEndSystem", "IPSec End System"}, {kp + "6", "ipsecTunnel", "IPSec Tunnel"}, {kp + "7", "ipsecUser", "IPSec User"},
		{kp + "8", "timeStamping", "Time Stamping"}, {kp + "9", "OCSPSigning", "OCSP Signing"}, {kp + "17", "ipsecIKE", "ipsec Internet Key Exchange"},
		{ms + "2.1.21", "msCodeInd", "Microsoft Individual Code Signing"}, {ms + "2.1.22", "msCodeCom", "Microsoft Commercial Code Signing"},
		{ms + "10.3.1", "msCTLSign", "Microsoft Trust List Signing"}, {ms + "10.3.3", "msSGC", "Microsoft Server Gated Crypto"},
		{ms + "10.3.4", "msEFS", "Microsoft Encrypted File System"}, {ms + "20.2.2", "msSmartcardLogin", "Microsoft Smartcard Login"},
		{"2.16.840.1.113730.4.1", "nsSGC", "Netscape Server Gated Crypto"}, {"2.5.29.37.0", "anyExtendedKeyUsage", "Any Extended Key Usage"},
		{"1.3.6.1.5.2.3.4", "pkInitClientAuth", "PKINIT Client Auth"}, {"1.3.6.1.5.2.3.5", "pkInitKDC", "Signing KDC Response"},
	}
}

func encodePurposes(_ *certificate, text string) (any, error) {
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
		oid, ok := parseOID(word)
		if !ok {
			return nil, errValue
		}
		oids = append(oids, oid)
	}
	return oids, nil
}

func showPurposes(der []byte) (string, error) {
	var oids []asn1.ObjectIdentifier
	if err := whole(der, &oids); err != nil {
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

func encodeKeyID(_ *certificate, text string) (any, error) {
	return hex.DecodeString(strings.ReplaceAll(text, ":", ""))
}

func showKeyID(der []byte) (string, error) {
	var id []byte
	err := whole(der, &id)
	return prettyHex(id), err
}

type authority struct {
	KeyID  []byte          `asn1:"optional,tag:0"`
	Issuer []asn1.RawValue `asn1:"optional,omitempty,tag:1"`
	Serial *big.Int        `asn1:"optional,tag:2"`
}

func encodeAuthority(issuer *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	asked := map[string]string{}
	for _, p := range list {
		if p.name != "keyid" && p.name != "issuer" || p.value != "" && p.value != "always" && p.value != "nonss" {
			return nil, errValue
		}
		asked[p.name] = p.value
	}
	var a authority
	how, keyID := asked["keyid"]
	if keyID {
		a.KeyID = issuer.keyID()
		if a.KeyID == nil && how == "always" {
			return nil, errValue
		}
	}
	if how, ok := asked["issuer"]; ok && (a.KeyID == nil || how == "always") {
		a.Issuer = []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: issuer.TBS.Issuer.FullBytes}}
		a.Serial = issuer.TBS.Serial
	}
	return a, nil
}

func showAuthority(der []byte) (string, error) {
	var a authority
	if err := whole(der, &a); err != nil {
		return "", err
	}
	var lines []string
	if a.KeyID != nil {
		lines = append(lines, "keyid:"+prettyHex(a.KeyID))
	}
	names, err := showNames(a.Issuer)
	if err != nil {
		return "", err
	}
	lines = append(lines, names...)
	if a.Serial != nil {
		lines = append(lines, "serial:"+serialText(a.Serial))
	}
	return strings.Join(lines, "\n"), nil
}

// serialText returns a serial number as hex digits with colons.
func serialText(n *big.Int) string {
	if n.Sign() == 0 {
		return "00"
	}
	text := prettyHex(n.Bytes())
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}

type accessPlace struct {
	Method asn1.ObjectIdentifier
	Place  asn1.RawValue
}

func accessMethods() []purpose {
	return []purpose{
		{"1.3.6.1.5.5.7.48.1", "OCSP", "OCSP"}, {"1.3.6.1.5.5.7.48.2", "caIssuers", "CA Issuers"},
		{"1.3.6.1.5.5.7.48.3", "ad_timestamping", "AD Time Stamping"}, {"1.3.6.1.5.5.7.48.5", "caRepository", "CA Repository"},
	}
}

func encodeAccess(_ *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var places []accessPlace
	for _, p := range list {
		method, kind, found := strings.Cut(p.name, ";")
		for _, known := range accessMethods() {
			if method == known.short || method == known.long {
				method = known.oid
			}
		}
		oid, ok := parseOID(method)
		place, err := encodeName(kind, p.value)
		if !found || !ok || err != nil {
			return nil, errValue
		}
		places = append(places, accessPlace{oid, place})
	}
	return places, nil
}

func showAccess(der []byte) (string, error) {
	var places []accessPlace
	if err := whole(der, &places); err != nil {
		return "", err
	}
	var lines []string
	for _, p := range places {
		method := p.Method.String()
		for _, known := range accessMethods() {
			if known.oid == method {
				method = known.long
				break
			}
		}
		name, err := showName(p.Place)
		if err != nil {
			return "", err
		}
		lines = append(lines, method+" - "+name)
	}
	return strings.Join(lines, "\n"), nil
}

func encodeAltNames(_ *certificate, text string) (any, error) {
	list, err := pairs(strings.ReplaceAll(text, "IP Address", "IP"))
	if err != nil {
		return nil, err
	}
	var names []asn1.RawValue
	for _, p := range list {
		one, err := encodeName(p.name, p.value)
		if err != nil {
			return nil, err
		}
		names = append(names, one)
	}
	return names, nil
}

func showAltNames(der []byte) (string, error) {
	var names []asn1.RawValue
	if err := whole(der, &names); err != nil {
		return "", err
	}
	list, err := showNames(names)
	return strings.Join(list, ", "), err
}

// encodeName encodes a general name: DNS, email, URI, RID or IP.
func encodeName(kind, value string) (asn1.RawValue, error) {
	raw := asn1.RawValue{Class: asn1.ClassContextSpecific, Bytes: []byte(value)}
	ascii := !strings.ContainsFunc(value, func(r rune) bool { return r >= 0x80 })
	switch {
	case kind == "email" && ascii && value != "copy" && value != "move":
		raw.Tag = 1
	case kind == "DNS" && ascii:
		raw.Tag = 2
	case kind == "URI" && ascii:
		raw.Tag = 6
	case kind == "IP":
		ip, err := encodeIP(value)
		if err != nil {
			return raw, err
		}
		raw.Tag, raw.Bytes = 7, ip
	case kind == "RID":
		oid, ok := parseOID(value)
		if !ok {
			return raw, errValue
		}
		der, err := asn1.Marshal(oid)
		if err != nil {
			return raw, err
		}
		raw.Tag, raw.Bytes = 8, der[2:]
	default:
		return raw, errValue
	}
	return raw, nil
}

// encodeIP encodes an address, or an address and its mask.
func encodeIP(value string) ([]byte, error) {
	var out []byte
	for part := range strings.SplitSeq(value, "/") {
		ip, err := netip.ParseAddr(part)
		if err != nil {
			return nil, err
		}
		out = append(out, ip.AsSlice()...)
	}
	if len(out) != 4 && len(out) != 8 && len(out) != 16 && len(out) != 32 {
		return nil, errValue
	}
	return out, nil
}

func showNames(names []asn1.RawValue) ([]string, error) {
	var list []string
	for _, n := range names {
		text, err := showName(n)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func showName(n asn1.RawValue) (string, error) {
	switch n.Tag {
	case 0:
		return "othername:<unsupported>", nil
	case 1:
		return "email:" + string(n.Bytes), nil
	case 2:
		return "DNS:" + string(n.Bytes), nil
	case 3:
		return "X400Name:<unsupported>", nil
	case 4:
		dn, err := parseName(n.Bytes)
		return "DirName:" + dn.line(), err
	case 5:
		return "EdiPartyName:<unsupported>", nil
	case 6:
		return "URI:" + string(n.Bytes), nil
	case 7:
		return "IP Address:" + showIP(n.Bytes), nil
	case 8:
		if len(n.Bytes) > 100 {
			return "", errValue
		}
		var oid asn1.ObjectIdentifier
		err := whole(append([]byte{asn1.TagOID, byte(len(n.Bytes))}, n.Bytes...), &oid)
		return "Registered ID:" + oid.String(), err
	}
	return "", errValue
}

func showIP(b []byte) string {
	switch len(b) {
	case 4:
		return netip.AddrFrom4([4]byte(b)).String()
	case 16:
		var parts []string
		for i := 0; i < 16; i += 2 {
			parts = append(parts, fmt.Sprintf("%X", int(b[i])<<8|int(b[i+1])))
		}
		return strings.Join(parts, ":")
	}
	return "<invalid>"
}

type distribution struct {
	Names    []asn1.RawValue `asn1:"optional,tag:0"`
	Relative asn1.RawValue   `asn1:"optional,tag:1"`
}

type distributionPoint struct {
	Point   distribution    `asn1:"optional,tag:0"`
	Reasons asn1.BitString  `asn1:"optional,tag:1"`
	Issuer  []asn1.RawValue `asn1:"optional,omitempty,tag:2"`
}

type fullName struct {
	Names []asn1.RawValue `asn1:"tag:0"`
}

type fullPoint struct {
	Point fullName `asn1:"tag:0"`
}

func encodePoints(_ *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var points []fullPoint
	for _, p := range list {
		n, err := encodeName(p.name, p.value)
		if err != nil {
			return nil, err
		}
		points = append(points, fullPoint{fullName{[]asn1.RawValue{n}}})
	}
	return points, nil
}

func showPoints(der []byte) (string, error) {
	var points []distributionPoint
	if err := whole(der, &points); err != nil {
		return "", err
	}
	var lines []string
	for _, p := range points {
		if len(p.Reasons.Bytes) > 0 || len(p.Point.Relative.FullBytes) > 0 {
			return "", errValue
		}
		for _, group := range []struct {
			title string
			names []asn1.RawValue
		}{{"Full Name:", p.Point.Names}, {"CRL Issuer:", p.Issuer}} {
			names, err := showNames(group.names)
			if err != nil {
				return "", err
			}
			if len(names) > 0 {
				lines = append(lines, group.title)
			}
			for _, n := range names {
				lines = append(lines, "  "+n)
			}
		}
	}
	return strings.Join(lines, "\n"), nil
}

type policyInfo struct {
	ID         asn1.ObjectIdentifier
	Qualifiers []asn1.RawValue `asn1:"optional,omitempty"`
}

type qualifier struct {
	ID    asn1.ObjectIdentifier
	Value asn1.RawValue
}

func encodePolicies(_ *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var policies []policyInfo
	for _, p := range list {
		word := p.name
		if word == "anyPolicy" || word == "X509v3 Any Policy" {
			word = "2.5.29.32.0"
		}
		oid, ok := parseOID(word)
		if !ok || p.value != "" {
			return nil, errValue
		}
		policies = append(policies, policyInfo{ID: oid})
	}
	return policies, nil
}

func showPolicies(der []byte) (string, error) {
	var policies []policyInfo
	if err := whole(der, &policies); err != nil {
		return "", err
	}
	var lines []string
	for _, p := range policies {
		id := p.ID.String()
		if id == "2.5.29.32.0" {
			id = "X509v3 Any Policy"
		}
		lines = append(lines, "Policy: "+id)
		for _, raw := range p.Qualifiers {
			var q qualifier
			if err := whole(raw.FullBytes, &q); err != nil || q.ID.String() != "1.3.6.1.5.5.7.2.1" {
				return "", errValue
			}
			lines = append(lines, "  CPS: "+string(q.Value.Bytes))
		}
	}
	return strings.Join(lines, "\n"), nil
}

type policyLimits struct {
	Require int `asn1:"optional,tag:0,default:-1"`
	Inhibit int `asn1:"optional,tag:1,default:-1"`
}

func encodePolicyLimits(_ *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	limits := policyLimits{-1, -1}
	for _, p := range list {
		n, err := strconv.Atoi(p.value)
		switch {
		case err != nil || n < 0:
			return nil, errValue
		case p.name == "requireExplicitPolicy":
			limits.Require = n
		case p.name == "inhibitPolicyMapping":
			limits.Inhibit = n
		default:
			return nil, errValue
		}
	}
	return limits, nil
}

func showPolicyLimits(der []byte) (string, error) {
	var limits policyLimits
	if err := whole(der, &limits); err != nil {
		return "", err
	}
	var parts []string
	if limits.Require >= 0 {
		parts = append(parts, fmt.Sprintf("Require Explicit Policy:%d", limits.Require))
	}
	if limits.Inhibit >= 0 {
		parts = append(parts, fmt.Sprintf("Inhibit Policy Mapping:%d", limits.Inhibit))
	}
	return strings.Join(parts, ", "), nil
}

func encodeNumber(_ *certificate, text string) (any, error) { return strconv.Atoi(text) }

func showNumber(der []byte) (string, error) {
	var n int
	err := whole(der, &n)
	return strconv.Itoa(n), err
}

type subtree struct {
	Base asn1.RawValue
	Min  int `asn1:"optional,tag:0"`
	Max  int `asn1:"optional,tag:1"`
}

type subtrees struct {
	Permitted []subtree `asn1:"optional,omitempty,tag:0"`
	Excluded  []subtree `asn1:"optional,omitempty,tag:1"`
}

func encodeSubtrees(_ *certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var s subtrees
	for _, p := range list {
		which, kind, _ := strings.Cut(p.name, ";")
		base, err := encodeName(kind, p.value)
		switch {
		case err != nil:
			return nil, err
		case which == "permitted":
			s.Permitted = append(s.Permitted, subtree{Base: base})
		case which == "excluded":
			s.Excluded = append(s.Excluded, subtree{Base: base})
		default:
			return nil, errValue
		}
	}
	return s, nil
}

func showSubtrees(der []byte) (string, error) {
	var s subtrees
	if err := whole(der, &s); err != nil {
		return "", err
	}
	var lines []string
	for _, group := range []struct {
		title string
		list  []subtree
	}{{"Permitted:", s.Permitted}, {"Excluded:", s.Excluded}} {
		if len(group.list) > 0 {
			lines = append(lines, group.title)
		}
		for _, t := range group.list {
			text, err := showBase(t.Base)
			if err != nil {
				return "", err
			}
			lines = append(lines, "  "+text)
		}
	}
	return strings.Join(lines, "\n"), nil
}

func showBase(base asn1.RawValue) (string, error) {
	if half := len(base.Bytes) / 2; base.Tag == 7 && (half == 4 || half == 16) {
		return "IP:" + showIP(base.Bytes[:half]) + "/" + showIP(base.Bytes[half:]), nil
	}
	return showName(base)
}

func encodeNull(*certificate, string) (any, error) { return asn1.NullRawValue, nil }

func showNull([]byte) (string, error) { return "", nil }

func encodeComment(_ *certificate, text string) (any, error) {
	return asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(text)}, nil
}

func showComment(der []byte) (string, error) {
	var raw asn1.RawValue
	err := whole(der, &raw)
	return string(raw.Bytes), err
}
