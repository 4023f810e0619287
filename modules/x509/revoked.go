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
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// A reason is a reason for revoking a certificate: its number, its name in arguments, and its name
// in OpenSSL.
type reason struct {
	code        int
	word, title string
}

func reasons() []reason {
	return []reason{
		{0, "unspecified", "Unspecified"}, {1, "keyCompromise", "Key Compromise"},
		{2, "CACompromise", "CA Compromise"},
		{3, "affiliationChanged", "Affiliation Changed"}, {4, "superseded", "Superseded"},
		{5, "cessationOfOperation", "Cessation Of Operation"},
		{6, "certificateHold", "Certificate Hold"}, {8, "removeFromCRL", "Remove From CRL"},
	}
}

func (m *module) list(input any) (*certificate.List, error) {
	der, err := m.der(input, crlKind)
	if err != nil {
		return nil, err
	}
	return parseList(der)
}

func parseList(der []byte) (*certificate.List, error) {
	l, err := certificate.ParseList(der)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	return l, nil
}

// showList returns a revocation list in the form of read_crl.
func showList(l *certificate.List) (*data.Map, error) {
	issuer, err := parseName(l.TBS.Issuer.FullBytes)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	ret := data.NewMap("Version", fmt.Sprintf("%d (0x%x)", l.TBS.Version+1, l.TBS.Version),
		"Signature Algorithm", title(l.Algorithm), "Issuer", issuer.openssl(), "Last Update",
		l.TBS.ThisUpdate.UTC().Format(layout))
	if !l.TBS.NextUpdate.IsZero() {
		ret.Set("Next Update", l.TBS.NextUpdate.UTC().Format(layout))
	}
	revoked := []any{}
	for _, r := range l.TBS.Revoked {
		revoked = append(revoked, data.NewMap(strings.ReplaceAll(serialText(r.Serial), ":", ""),
			showRevoked(r)))
	}
	ret.Set("Revoked Certificates", revoked)
	return ret, nil
}

func showRevoked(r certificate.Revoked) *data.Map {
	one := data.NewMap("Revocation Date", r.Time.UTC().Format(layout))
	shown := data.NewMap()
	for _, x := range r.Extensions {
		_, long, text := showExtension(x)
		if x.Id.String() == certificate.OIDReason {
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
	if err := certificate.Whole(der, &code); err != nil {
		return certificate.Hex(der)
	}
	for _, r := range reasons() {
		if r.code == int(code) {
			return r.title
		}
	}
	return fmt.Sprint(int(code))
}

// newList creates a revocation list.
func (m *module) newList(a createCRLArgs) (*certificate.List, error) {
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
	l := &certificate.List{TBS: certificate.TBSList{Issuer: cert.TBS.Subject, ThisUpdate: now,
		NextUpdate: now.AddDate(0, 0, days)}}
	for _, item := range revokedItems(a.Revoked) {
		if err := m.revoke(l, item, a.IncludeExpired, now); err != nil {
			return nil, err
		}
	}
	if err := l.Sign(s); err != nil {
		return nil, x509Error("%w", err)
	}
	return l, nil
}

// revokedItems returns the dictionaries in an argument: a list of them, or a dictionary with them
// as values.
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

// revoke adds a certificate to a list. It skips an expired certificate unless expired is true.
func (m *module) revoke(l *certificate.List, item *data.Map, expired bool, now time.Time) error {
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
		l.TBS.Version = 1 // required with extensions (RFC 5280, 5.1.2.1)
	}
	l.TBS.Revoked = append(l.TBS.Revoked, r)
	return nil
}

func itemTime(item *data.Map, key string) (time.Time, error) {
	text := data.Str(item.Value(key))
	t, err := time.Parse(layout, text)
	if err != nil {
		return t, loader.Exception("ValueError",
			"time data %s does not match format '%%Y-%%m-%%d %%H:%%M:%%S'", data.Repr(text))
	}
	return t, nil
}

// revokedCert returns the entry for a certificate to revoke, and its expiry time, which may be
// unknown.
func (m *module) revokedCert(item *data.Map) (r certificate.Revoked, ends time.Time, err error) {
	if item.Has("certificate") {
		c, err := m.certificate(item.Value("certificate"))
		if err != nil {
			return r, ends, err
		}
		return certificate.Revoked{Serial: c.TBS.Serial}, c.TBS.Validity.NotAfter, nil
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
	return certificate.Revoked{Serial: n}, ends, err
}

func encodeReason(word string) (pkix.Extension, error) {
	oid, _ := certificate.ParseOID(certificate.OIDReason)
	for _, r := range reasons() {
		if strings.EqualFold(strings.ReplaceAll(word, " ", ""), r.word) {
			der, err := asn1.Marshal(asn1.Enumerated(r.code))
			return pkix.Extension{Id: oid, Value: der}, err
		}
	}
	return pkix.Extension{}, loader.Exception("ValueError", "bad reason string")
}

// listOf reports whether the owner of a certificate signed a list.
func listOf(l *certificate.List, c *certificate.Certificate) bool {
	key, err := c.PublicKey()
	return err == nil && bytes.Equal(l.TBS.Issuer.FullBytes, c.TBS.Subject.FullBytes) &&
		certificate.Verify(key, l.Algorithm, l.TBS.Raw, l.Signature) == nil
}
