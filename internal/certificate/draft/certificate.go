package draft

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// A Cert is a certificate that is not signed yet.
type Cert struct {
	Cert      *certificate.Certificate
	Authority *certificate.Certificate // the signing certificate; nil for a self-signed one
	SignKey   crypto.Signer            // nil if another host signs
	Key       crypto.Signer            // the private key of private_key; nil if there is none
	about     about
}

// Cert builds the certificate described by arguments (build_crt). Unknown arguments are ignored.
// remote means that another host signs, so that no signing key is read.
func (r Reader) Cert(args *data.Map, remote bool) (*Cert, error) {
	c := &Cert{Cert: &certificate.Certificate{}}
	c.Cert.TBS.Version = 2
	var q *certificate.Request
	if data.Truth(args.Value("csr")) {
		var err error
		if q, _, err = r.Request(args.Value("csr")); err != nil {
			return nil, err
		}
	}
	for _, step := range []func() error{
		func() error { return c.signer(r, args, remote) },
		func() error { return c.subject(r, args, q) },
		func() error { return c.pair(remote) },
		func() error { return c.named(args) },
		func() error { return c.valid(args) },
		func() error { return c.extend(args, q) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// signer reads the signing certificate and key, and the serial number.
func (c *Cert) signer(r Reader, args *data.Map, remote bool) (err error) {
	if !remote {
		if c.SignKey, _, err = r.Key(args.Value("signing_private_key"),
			args.Value("signing_private_key_passphrase")); err != nil {
			return err
		}
	}
	if c.Cert.TBS.Serial, err = newSerial(args.Value("serial_number")); err != nil {
		return err
	}
	if data.Truth(args.Value("signing_cert")) {
		c.Authority, err = r.Certificate(args.Value("signing_cert"))
	}
	return err
}

// newSerial returns the serial number of an argument, or one of 159 random bits.
func newSerial(v any) (*big.Int, error) {
	if v != nil {
		return serialOf(v)
	}
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 159))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}

// subject sets the subject and its public key.
func (c *Cert) subject(r Reader, args *data.Map, q *certificate.Request) error {
	key, err := c.owner(r, args, q)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return loader.Execution("encode a public key: %w", err)
	}
	c.Cert.TBS.PublicKey = asn1.RawValue{FullBytes: der}
	c.about.subject, c.about.authority = key, c.Authority
	return nil
}

func (c *Cert) owner(r Reader, args *data.Map, q *certificate.Request) (crypto.PublicKey, error) {
	private := args.Value("private_key")
	switch {
	case c.Authority == nil && c.SignKey == nil:
		return nil, loader.Exception("AttributeError",
			"'NoneType' object has no attribute 'public_key'")
	case c.Authority == nil:
		c.about.key = c.SignKey.Public()
		return c.about.key, nil
	case data.Truth(private):
		key, _, err := r.Key(private, args.Value("private_key_passphrase"))
		if err != nil {
			return nil, err
		}
		c.Key = key
		return key.Public(), nil
	case data.Truth(args.Value("public_key")):
		return r.PublicKey(args.Value("public_key"))
	case q != nil:
		return q.PublicKey()
	}
	return nil, loader.Invocation("This certificate is not self-signed (signing_cert is set) and thus needs public_key, private_key or csr " +
		"to derive public key to sign")
}

// pair checks that the signing key belongs to the signing certificate.
func (c *Cert) pair(remote bool) error {
	if remote || c.Authority == nil {
		return nil
	}
	return fits(c.Authority, c.SignKey)
}

func fits(cert *certificate.Certificate, key crypto.Signer) error {
	public, err := cert.PublicKey()
	if err != nil {
		return loader.Execution("public key of the signing certificate: %w", err)
	}
	if !certificate.Same(public, key.Public()) {
		return loader.Invocation("Signing private key does not match the certificate's public key")
	}
	return nil
}

func (c *Cert) named(args *data.Map) error {
	subject, err := subjectOf(args)
	if err != nil {
		return err
	}
	c.Cert.TBS.Subject, c.Cert.TBS.Issuer = subject, subject
	if c.Authority != nil {
		c.Cert.TBS.Issuer = c.Authority.TBS.Subject
	}
	return nil
}

// subjectOf returns the subject of arguments: subject, or its parts.
func subjectOf(args *data.Map) (asn1.RawValue, error) {
	v := args.Value("subject")
	if !data.Truth(v) {
		v = args
	}
	n, err := Name(v)
	if err != nil {
		return asn1.RawValue{}, err
	}
	return n.Marshal()
}

// valid sets the period of validity.
func (c *Cert) valid(args *data.Map) error {
	now := time.Now().UTC().Truncate(time.Second)
	v := certificate.Validity{NotBefore: now}
	var err error
	if text := args.Value("not_before"); data.Truth(text) {
		if v.NotBefore, err = timeOf(text); err != nil {
			return err
		}
	}
	if text := args.Value("not_after"); data.Truth(text) {
		if v.NotAfter, err = timeOf(text); err != nil {
			return err
		}
	} else {
		days, err := Days(args.Value("days_valid"), 30)
		if err != nil {
			return err
		}
		v.NotAfter = now.AddDate(0, 0, days)
	}
	if v.NotAfter.Before(v.NotBefore) {
		return loader.Exception("ValueError",
			"The not valid after date must be after the not valid before date.")
	}
	c.Cert.TBS.Validity = v
	return nil
}

// Days parses a number of days; None means standard.
func Days(v any, standard int) (int, error) {
	switch v := v.(type) {
	case nil:
		return standard, nil
	case int64:
		if v > -4_000_000 && v < 4_000_000 {
			return int(v), nil
		}
		return 0, loader.Exception("OverflowError", "date value out of range")
	}
	return 0, loader.TypeError("unsupported type for timedelta days component: %s",
		loader.TypeName(v))
}

// extend adds the extensions of the arguments, and those of a request that the arguments lack.
func (c *Cert) extend(args *data.Map, q *certificate.Request) error {
	for _, k := range Kinds() {
		v := args.Value(k.Word)
		if !k.Cert || v == nil {
			continue
		}
		x, err := k.extension(c.about, v)
		if err != nil {
			return err
		}
		c.Cert.TBS.Extensions = append(c.Cert.TBS.Extensions, x)
	}
	if q == nil {
		return nil
	}
	asked, err := q.Extensions()
	if err != nil {
		return loader.Execution("%w", err)
	}
	return c.copyExtensions(asked)
}

func (c *Cert) copyExtensions(asked []pkix.Extension) error {
	for _, k := range Kinds() {
		oid, ok := certificate.ParseOID(k.OID)
		if !ok || !k.Request || certificate.ExtensionOf(c.Cert.TBS.Extensions, oid) != nil {
			continue
		}
		if x := certificate.ExtensionOf(asked, oid); x != nil {
			c.Cert.TBS.Extensions = append(c.Cert.TBS.Extensions, *x)
		}
	}
	return nil
}

// Sign signs the certificate with the key that the arguments name.
func (c *Cert) Sign(digest any) error {
	s, err := signer(c.SignKey, digest)
	if err != nil {
		return err
	}
	if err := c.Cert.Sign(s); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}

// NewRequest builds the request described by arguments, not signed yet, and returns it with the key
// for signing it (build_csr).
func (r Reader) NewRequest(args *data.Map) (*certificate.Request, crypto.Signer, error) {
	key, _, err := r.Key(args.Value("private_key"), args.Value("private_key_passphrase"))
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, loader.Execution("encode a public key: %w", err)
	}
	q := &certificate.Request{}
	q.Info.PublicKey = asn1.RawValue{FullBytes: der}
	if q.Info.Subject, err = subjectOf(args); err != nil {
		return nil, nil, err
	}
	var list []pkix.Extension
	for _, k := range Kinds() {
		if !k.Request || !args.Has(k.Word) {
			continue
		}
		x, err := k.extension(about{subject: key.Public()}, args.Value(k.Word))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, x)
	}
	return q, key, q.Ask(list)
}
