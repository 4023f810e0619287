package x509

import (
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
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

func x509Error(format string, args ...any) error {
	return loader.Exception("M2Crypto.X509.X509Error", format, args...)
}

func parseCertificate(der []byte) (*certificate.Certificate, error) {
	c, err := certificate.Parse(der)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	return c, nil
}

func (m *module) certificate(input any) (*certificate.Certificate, error) {
	der, err := m.der(input, certKind)
	if err != nil {
		return nil, err
	}
	return parseCertificate(der)
}

const layout = "2006-01-02 15:04:05"

// showCertificate returns a certificate in the form of read_certificate.
func showCertificate(c *certificate.Certificate, fips bool) (*data.Map, error) {
	key, err := parsePublic(c.TBS.PublicKey.FullBytes)
	if err != nil {
		return nil, err
	}
	public, err := publicPEM(key)
	if err != nil {
		return nil, err
	}
	sha2, sha, md := sha256.Sum256(c.Raw), sha1.Sum(c.Raw), md5.Sum(c.Raw)
	ret := data.NewMap("Version", int64(c.TBS.Version+1), "Key Size", keyBits(key),
		"Serial Number", serialText(c.TBS.Serial), "SHA-256 Finger Print", certificate.Hex(sha2[:]),
		"SHA1 Finger Print", certificate.Hex(sha[:]))
	for _, n := range []struct {
		title string
		raw   asn1.RawValue
	}{{"Subject", c.TBS.Subject}, {"Issuer", c.TBS.Issuer}} {
		if err := setName(ret, n.title, n.raw); err != nil {
			return nil, err
		}
	}
	ret.Update(data.NewMap("Not Before", c.TBS.Validity.NotBefore.UTC().Format(layout),
		"Not After", c.TBS.Validity.NotAfter.UTC().Format(layout), "Public Key", public))
	if !fips {
		ret.Set("MD5 Finger Print", certificate.Hex(md[:]))
	}
	if len(c.TBS.Extensions) > 0 {
		ret.Set("X509v3 Extensions", showExtensions(c.TBS.Extensions))
	}
	return ret, nil
}

// setName adds a name and its hash to a result.
func setName(ret *data.Map, title string, raw asn1.RawValue) error {
	n, err := parseName(raw.FullBytes)
	if err != nil {
		return x509Error("%w", err)
	}
	ret.Set(title, n.dict())
	ret.Set(title+" Hash", nameHash(raw.FullBytes))
	return nil
}

// digest returns the hash algorithm with a name.
func digest(name string) (crypto.Hash, error) {
	switch strings.ToLower(strings.ReplaceAll(name, "-", "")) {
	case "md5":
		return crypto.MD5, nil
	case "sha1":
		return crypto.SHA1, nil
	case "sha224":
		return crypto.SHA224, nil
	case "sha256":
		return crypto.SHA256, nil
	case "sha384":
		return crypto.SHA384, nil
	case "sha512":
		return crypto.SHA512, nil
	}
	return 0, loader.Exception("ValueError", "('unknown algorithm: %%r', %s)", data.Repr(name))
}

// title returns a signature algorithm as OpenSSL prints it.
func title(id pkix.AlgorithmIdentifier) string {
	a := certificate.AlgorithmOf(id.Algorithm)
	switch {
	case a == nil || a.Hash >= crypto.SHA3_224 && a.Hash <= crypto.SHA3_512:
		return id.Algorithm.String()
	case a.Key == "rsa":
		return strings.ToLower(strings.ReplaceAll(a.Hash.String(), "-", "")) + "WithRSAEncryption"
	case a.Key == "ec":
		return "ecdsa-with-" + strings.ReplaceAll(a.Hash.String(), "-", "")
	}
	return "ED25519"
}

func newSigner(key crypto.Signer, hash string) (*certificate.Signer, error) {
	h, err := digest(hash)
	if err != nil {
		return nil, err
	}
	s, err := certificate.NewSigner(key, h)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	return s, nil
}

// defaults sets missing arguments to their defaults (CERT_DEFAULTS of Salt).
func defaults(k *data.Map) {
	for _, d := range []struct {
		name  string
		value any
	}{{"days_valid", int64(365)}, {"version", int64(3)}, {"serial_bits", int64(64)},
		{"algorithm", "sha256"}} {
		if !k.Has(d.name) {
			k.Set(d.name, d.value)
		}
	}
}

func number(k *data.Map, key string) (int, error) {
	n, err := toInt(k.Value(key))
	if err != nil {
		return 0, loader.TypeError("%s: %w", key, err)
	}
	return n, nil
}

func toInt(v any) (int, error) {
	switch n := v.(type) {
	case int64:
		return int(n), nil
	case float64:
		return int(n), nil
	}
	var n int
	if _, err := fmt.Sscanf(data.Str(v), "%d", &n); err != nil ||
		fmt.Sprint(n) != strings.TrimSpace(data.Str(v)) {
		return 0, fmt.Errorf("%s is not a number", data.Repr(v))
	}
	return n, nil
}

// serialNumber returns the serial number in the arguments. If there is none, it creates one and
// stores it there.
func serialNumber(k *data.Map) (*big.Int, error) {
	if !k.Has("serial_number") {
		size, err := number(k, "serial_bits")
		if err != nil {
			return nil, err
		}
		if size < 1 || size > 160 {
			return nil, loader.Exception("ValueError",
				"serial_bits: %d is not between 1 and 160", size)
		}
		// One bit less than size: a number with the first bit set needs another byte, and RFC 5280
		// allows 20.
		n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(max(size-1, 1))))
		if err != nil {
			return nil, err
		}
		k.Set("serial_number", serialText(n))
		return n, nil
	}
	text := strings.ReplaceAll(data.Str(k.Value("serial_number")), ":", "")
	n, ok := new(big.Int).SetString(text, 16)
	if !ok {
		return nil, loader.Exception("ValueError", "invalid literal for int() with base 16: %s",
			data.Repr(text))
	}
	return n, nil
}

func validityOf(k *data.Map) (certificate.Validity, error) {
	days, err := number(k, "days_valid")
	if err != nil {
		return certificate.Validity{}, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	v := certificate.Validity{NotBefore: now, NotAfter: now.AddDate(0, 0, days)}
	for _, end := range []struct {
		name string
		at   *time.Time
	}{{"not_before", &v.NotBefore}, {"not_after", &v.NotAfter}} {
		if !k.Has(end.name) {
			continue
		}
		text := data.Str(k.Value(end.name))
		if *end.at, err = time.Parse(layout, text); err != nil {
			return v, loader.Invocation("%s: %s is not in required format %%Y-%%m-%%d %%H:%%M:%%S",
				end.name, text)
		}
	}
	return v, nil
}

// A draft is a certificate that is being built.
type draft struct {
	m         *module
	args      *data.Map
	cert      certificate.Certificate
	issuer    *certificate.Certificate // the signer; for a self-signed certificate, itself
	key       crypto.PublicKey
	requested *data.Map // extensions of a request, by their short names
	signKey   crypto.Signer
}

// newCertificate creates a certificate from arguments, to which the signing policy has been
// applied.
func (m *module) newCertificate(k *data.Map) (*certificate.Certificate, error) {
	defaults(k)
	d := &draft{m: m, args: k, requested: data.NewMap()}
	for _, step := range []func() error{d.basics, d.subject, d.signedBy, d.extend, d.sign} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &d.cert, nil
}

func (d *draft) basics() error {
	version, err := number(d.args, "version")
	if err != nil {
		return err
	}
	d.cert.TBS.Version = version - 1
	if d.cert.TBS.Serial, err = serialNumber(d.args); err != nil {
		return err
	}
	if d.cert.TBS.Validity, err = validityOf(d.args); err != nil {
		return err
	}
	if !d.args.Has("signing_private_key") {
		return loader.Exception("KeyError", "'signing_private_key'")
	}
	d.signKey, err = d.m.privateKey(d.args.Value("signing_private_key"),
		d.args.Value("signing_private_key_passphrase"))
	return err
}

// subject sets the public key and the name.
func (d *draft) subject() error {
	k := d.args
	var n name
	if k.Has("csr") {
		r, err := d.m.request(k.Value("csr"))
		if err != nil {
			return err
		}
		if n, err = parseName(r.Info.Subject.FullBytes); err != nil {
			return err
		}
		requested, err := r.Extensions()
		if err != nil {
			return x509Error("%w", err)
		}
		d.requested = showExtensions(requested)
		k.Set("public_key", k.Value("csr"))
	}
	if k.Has("public_key") {
		key, err := d.m.publicKey(k.Value("public_key"), k.Value("public_key_passphrase"))
		if err != nil {
			return err
		}
		d.key = key
	} else {
		d.key = d.signKey.Public()
	}
	return d.named(n)
}

func (d *draft) named(n name) error {
	der, err := publicDER(d.key)
	if err != nil {
		return err
	}
	d.cert.TBS.PublicKey = asn1.RawValue{FullBytes: der}
	n, refused := n.add(d.args)
	if len(refused) > 0 {
		d.m.env.Log.Warnf("Invalid values in a subject are left out: %s",
			strings.Join(refused, ", "))
	}
	d.cert.TBS.Subject, err = certificate.Name(n).Marshal()
	return err
}

func (d *draft) signedBy() error {
	d.issuer = &d.cert
	if d.args.Has("signing_cert") {
		c, err := d.m.certificate(d.args.Value("signing_cert"))
		if err != nil {
			return err
		}
		d.issuer = c
	}
	d.cert.TBS.Issuer = d.issuer.TBS.Subject
	own := d.key
	if d.issuer != &d.cert {
		var err error
		if own, err = parsePublic(d.issuer.TBS.PublicKey.FullBytes); err != nil {
			return err
		}
	}
	if certificate.Same(own, d.signKey.Public()) {
		return nil
	}
	return loader.Invocation("signing_private_key: %s does no match signing_cert: %s",
		certificate.Concealed(data.Str(d.args.Value("signing_private_key"))),
		data.Str(orEmpty(d.args.Value("signing_cert"))))
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// extend adds the extensions in the arguments, and those of a request that the arguments do not
// set.
func (d *draft) extend() error {
	for _, e := range extensions() {
		value, ok := e.wanted(d.args)
		if !ok {
			value, ok = e.wanted(d.requested)
		}
		if !ok {
			continue
		}
		x, err := e.newExtension(d.issuer, withHash(&e, value, d.key))
		if err != nil {
			return err
		}
		d.cert.TBS.Extensions = append(d.cert.TBS.Extensions, x)
	}
	return nil
}

// wanted returns the value of an extension in the arguments, by its short or long name.
func (e *extension) wanted(k *data.Map) (string, bool) {
	for _, name := range []string{e.short, e.long} {
		if v := k.Value(name); data.Truth(v) {
			return data.Str(v), true
		}
	}
	return "", false
}

// withHash replaces hash in a key identifier by the hash of a public key.
func withHash(e *extension, value string, key crypto.PublicKey) string {
	if e.short != "subjectKeyIdentifier" {
		return value
	}
	return strings.ReplaceAll(value, "hash", certificate.Hex(keyHash(key)))
}

func (d *draft) sign() error {
	s, err := newSigner(d.signKey, data.Str(d.args.Value("algorithm")))
	if err != nil {
		return err
	}
	if err := d.cert.Sign(s); err != nil {
		return x509Error("%w", err)
	}
	return nil
}
