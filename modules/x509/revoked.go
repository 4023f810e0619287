package x509

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The structures of RFC 5280.
type (
	list struct {
		Raw       asn1.RawContent
		TBS       tbsList
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	tbsList struct {
		Raw        asn1.RawContent
		Version    int `asn1:"optional,default:0"`
		Algorithm  pkix.AlgorithmIdentifier
		Issuer     asn1.RawValue
		ThisUpdate time.Time
		NextUpdate time.Time        `asn1:"optional"`
		Revoked    []revokedCert    `asn1:"optional,omitempty"`
		Extensions []pkix.Extension `asn1:"optional,omitempty,explicit,tag:0"`
	}
	revokedCert struct {
		Serial     *big.Int
		Time       time.Time
		Extensions []pkix.Extension `asn1:"optional,omitempty"`
	}
)

// reasonOID is that of the extension that says why a certificate is revoked.
const reasonOID = "2.5.29.21"

// A reason is why a certificate is revoked: its number, how arguments write it, how OpenSSL prints it.
type reason struct {
	code        int
	word, title string
}

func reasons() []reason {
	return []reason{
		{0, "unspecified", "Unspecified"}, {1, "keyCompromise", "Key Compromise"}, {2, "CACompromise", "CA Compromise"},
		{3, "affiliationChanged", "Affiliation Changed"}, {4, "superseded", "Superseded"}, {5, "cessationOfOperation", "Cessation Of Operation"},
		{6, "certificateHold", "Certificate Hold"}, {8, "removeFromCRL", "Remove From CRL"},
	}
}

func (m *module) list(input any) (*list, error) {
	der, err := m.der(input, crlKind)
	if err != nil {
		return nil, err
	}
	return parseList(der)
}

func parseList(der []byte) (*list, error) {
	var l list
	if err := whole(der, &l); err != nil {
		return nil, x509Error("read a revocation list: %w", err)
	}
	return &l, nil
}

// details returns what read_crl shows.
func (l *list) details() (*data.Map, error) {
	issuer, err := parseName(l.TBS.Issuer.FullBytes)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	title := l.Algorithm.Algorithm.String()
	if a := algorithmOf(func(a algorithm) bool { return a.oid == title }); a != nil {
		title = a.title()
	}
	ret := data.NewMap("Version", fmt.Sprintf("%d (0x%x)", l.TBS.Version+1, l.TBS.Version), "Signature Algorithm", title,
		"Issuer", issuer.openssl(), "Last Update", l.TBS.ThisUpdate.UTC().Format(layout))
	if !l.TBS.NextUpdate.IsZero() {
		ret.Set("Next Update", l.TBS.NextUpdate.UTC().Format(layout))
	}
	revoked := []any{}
	for _, r := range l.TBS.Revoked {
		revoked = append(revoked, data.NewMap(strings.ReplaceAll(serialText(r.Serial), ":", ""), r.details()))
	}
	ret.Set("Revoked Certificates", revoked)
	return ret, nil
}

func (r *revokedCert) details() *data.Map {
	one := data.NewMap("Revocation Date", r.Time.UTC().Format(layout))
	shown := data.NewMap()
	for _, x := range r.Extensions {
		_, long, text := showExtension(x)
		if x.Id.String() == reasonOID {
			long, text = "X509v3 CRL Reason Code", showReason(x.Value)
		}
		shown.Set(long, text)
	}
	if shown.Len() > 0 {
		one.Set("CRL entry extensions", shown)
	}
	return one
}

func showReason(der []byte) string {
	var code asn1.Enumerated
	if err := whole(der, &code); err != nil {
		return prettyHex(der)
	}
	for _, r := range reasons() {
		if r.code == int(code) {
			return r.title
		}
	}
	return fmt.Sprint(int(code))
}

// newList makes a revocation list.
func (m *module) newList(a createCRLArgs) (*list, error) {
	cert, err := m.certificate(a.SigningCert)
	if err != nil {
		return nil, err
	}
	key, err := m.privateKey(a.SigningPrivateKey, a.SigningPrivateKeyPassphrase)
	if err != nil {
		return nil, err
	}
	days, err := toInt(a.DaysValid)
	if err != nil {
		return nil, loader.TypeError("days_valid: %w", err)
	}
	hash := a.Digest
	if hash == "" {
		hash = "sha256"
	}
	s, err := newSigner(key, hash)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	l := &list{Algorithm: s.identifier()}
	l.TBS = tbsList{Algorithm: s.identifier(), Issuer: cert.TBS.Subject, ThisUpdate: now, NextUpdate: now.AddDate(0, 0, days)}
	for _, item := range revokedItems(a.Revoked) {
		if err := m.revoke(l, item, a.IncludeExpired, now); err != nil {
			return nil, err
		}
	}
	return l, l.sign(s)
}

// revokedItems returns the dictionaries of an argument, which is a list of them, or a dictionary with them as values.
func revokedItems(v any) []*data.Map {
	var items []*data.Map
	switch v := v.(type) {
	case *data.Map:
		for _, one := range v.All() {
			if item, ok := one.(*data.Map); ok {
				items = append(items, item)
			}
		}
	case []any:
		for _, one := range v {
			if item, ok := one.(*data.Map); ok {
				items = append(items, item)
			}
		}
	}
	return items
}

// revoke adds a certificate to a list. One that has expired is left out unless expired says otherwise.
func (m *module) revoke(l *list, item *data.Map, expired bool, now time.Time) error {
	r, ends, err := m.revokedCert(item)
	if err != nil {
		return err
	}
	if !expired && !ends.IsZero() && now.After(ends) {
		return nil
	}
	r.Time = now
	if item.Has("revocation_date") {
		if r.Time, err = itemTime(item, "revocation_date"); err != nil {
			return err
		}
	}
	if item.Has("reason") {
		x, err := encodeReason(data.Str(item.Value("reason")))
		if err != nil {
			return err
		}
		r.Extensions = append(r.Extensions, x)
		l.TBS.Version = 1 // RFC 5280, 5.1.2.1: where there are extensions
	}
	l.TBS.Revoked = append(l.TBS.Revoked, r)
	return nil
}

func itemTime(item *data.Map, key string) (time.Time, error) {
	text := data.Str(item.Value(key))
	t, err := time.Parse(layout, text)
	if err != nil {
		return t, loader.Exception("ValueError", "time data %s does not match format '%%Y-%%m-%%d %%H:%%M:%%S'", data.Repr(text))
	}
	return t, nil
}

// revokedCert returns the serial number of a certificate to revoke and when it ends, which may be unknown.
func (m *module) revokedCert(item *data.Map) (r revokedCert, ends time.Time, err error) {
	if item.Has("certificate") {
		c, err := m.certificate(item.Value("certificate"))
		if err != nil {
			return r, ends, err
		}
		return revokedCert{Serial: c.TBS.Serial}, c.TBS.Validity.NotAfter, nil
	}
	if !item.Has("serial_number") {
		return r, ends, loader.Exception("KeyError", "'serial_number'")
	}
	text := strings.ReplaceAll(data.Str(item.Value("serial_number")), ":", "")
	n, ok := new(big.Int).SetString(text, 16)
	if !ok {
		return r, ends, loader.Exception("ValueError", "bad hex string")
	}
	if item.Has("not_after") {
		ends, err = itemTime(item, "not_after")
	}
	return revokedCert{Serial: n}, ends, err
}

func encodeReason(word string) (pkix.Extension, error) {
	oid, _ := parseOID(reasonOID)
	for _, r := range reasons() {
		if strings.EqualFold(strings.ReplaceAll(word, " ", ""), r.word) {
			der, err := asn1.Marshal(asn1.Enumerated(r.code))
			return pkix.Extension{Id: oid, Value: der}, err
		}
	}
	return pkix.Extension{}, loader.Exception("ValueError", "bad reason string")
}

func (l *list) sign(s *signer) error {
	tbs, err := asn1.Marshal(l.TBS)
	if err != nil {
		return x509Error("encode a revocation list: %w", err)
	}
	l.TBS.Raw = tbs
	if l.Signature, err = s.sign(tbs); err != nil {
		return x509Error("sign a revocation list: %w", err)
	}
	if l.Raw, err = asn1.Marshal(*l); err != nil {
		return x509Error("encode a revocation list: %w", err)
	}
	return nil
}

// signedBy reports whether a certificate's owner made the list.
func (l *list) signedBy(c *certificate) bool {
	key, err := c.publicKey()
	return err == nil && bytes.Equal(l.TBS.Issuer.FullBytes, c.TBS.Subject.FullBytes) &&
		verify(key, l.Algorithm, l.TBS.Raw, l.Signature) == nil
}
