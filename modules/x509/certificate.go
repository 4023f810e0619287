package x509

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	_ "crypto/sha512" // hashes by name
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The structures of RFC 5280. crypto/x509 reads them more strictly than tools that have written certificates for decades.
type (
	certificate struct {
		Raw       asn1.RawContent
		TBS       tbsCertificate
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	tbsCertificate struct {
		Raw        asn1.RawContent
		Version    int `asn1:"optional,explicit,default:0,tag:0"`
		Serial     *big.Int
		Algorithm  pkix.AlgorithmIdentifier
		Issuer     asn1.RawValue
		Validity   validity
		Subject    asn1.RawValue
		PublicKey  asn1.RawValue
		IssuerID   asn1.BitString   `asn1:"optional,tag:1"`
		SubjectID  asn1.BitString   `asn1:"optional,tag:2"`
		Extensions []pkix.Extension `asn1:"omitempty,optional,explicit,tag:3"`
	}
	validity struct{ NotBefore, NotAfter time.Time }
)

func x509Error(format string, args ...any) error {
	return loader.Exception("M2Crypto.X509.X509Error", format, args...)
}

func parseCertificate(der []byte) (*certificate, error) {
	var c certificate
	if err := whole(der, &c); err != nil {
		return nil, x509Error("read a certificate: %w", err)
	}
	return &c, nil
}

func (m *module) certificate(input any) (*certificate, error) {
	der, err := m.der(input, certKind)
	if err != nil {
		return nil, err
	}
	return parseCertificate(der)
}

func (c *certificate) publicKey() (crypto.PublicKey, error) {
	return parsePublic(c.TBS.PublicKey.FullBytes)
}

// keyID returns the subject key identifier, nil when there is none.
func (c *certificate) keyID() []byte {
	for _, x := range c.TBS.Extensions {
		var id []byte
		if x.Id.String() == "2.5.29.14" && whole(x.Value, &id) == nil {
			return id
		}
	}
	return nil
}

const layout = "2006-01-02 15:04:05"

// details returns what read_certificate shows.
func (c *certificate) details(fips bool) (*data.Map, error) {
	key, err := c.publicKey()
	if err != nil {
		return nil, err
	}
	public, err := publicPEM(key)
	if err != nil {
		return nil, err
	}
	sha2, sha, md := sha256.Sum256(c.Raw), sha1.Sum(c.Raw), md5.Sum(c.Raw)
	ret := data.NewMap("Version", int64(c.TBS.Version+1), "Key Size", keyBits(key), "Serial Number", serialText(c.TBS.Serial),
		"SHA-256 Finger Print", prettyHex(sha2[:]), "SHA1 Finger Print", prettyHex(sha[:]))
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
		ret.Set("MD5 Finger Print", prettyHex(md[:]))
	}
	if len(c.TBS.Extensions) > 0 {
		ret.Set("X509v3 Extensions", showExtensions(c.TBS.Extensions))
	}
	return ret, nil
}

// setName shows a name and its hash.
func setName(ret *data.Map, title string, raw asn1.RawValue) error {
	n, err := parseName(raw.FullBytes)
	if err != nil {
		return x509Error("%w", err)
	}
	ret.Set(title, n.dict())
	ret.Set(title+" Hash", nameHash(raw.FullBytes))
	return nil
}

// digest returns the hash of that name.
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

// A signature algorithm: which key, which hash, its identifier.
type algorithm struct {
	key, oid string
	hash     crypto.Hash
}

func algorithms() []algorithm {
	const rsaOID, ecOID = "1.2.840.113549.1.1.", "1.2.840.10045.4."
	return []algorithm{
		{"rsa", rsaOID + "4", crypto.MD5}, {"rsa", rsaOID + "5", crypto.SHA1}, {"rsa", rsaOID + "14", crypto.SHA224},
		{"rsa", rsaOID + "11", crypto.SHA256}, {"rsa", rsaOID + "12", crypto.SHA384}, {"rsa", rsaOID + "13", crypto.SHA512},
		{"ec", ecOID + "1", crypto.SHA1}, {"ec", ecOID + "3.1", crypto.SHA224}, {"ec", ecOID + "3.2", crypto.SHA256},
		{"ec", ecOID + "3.3", crypto.SHA384}, {"ec", ecOID + "3.4", crypto.SHA512}, {"ed25519", "1.3.101.112", 0},
	}
}

func (a algorithm) title() string {
	switch {
	case a.key == "rsa":
		return strings.ToLower(strings.ReplaceAll(a.hash.String(), "-", "")) + "WithRSAEncryption"
	case a.key == "ec":
		return "ecdsa-with-" + strings.ReplaceAll(a.hash.String(), "-", "")
	}
	return "ED25519"
}

func algorithmOf(fits func(algorithm) bool) *algorithm {
	for _, a := range algorithms() {
		if fits(a) {
			return &a
		}
	}
	return nil
}

func keyKindOf(key crypto.PublicKey) string {
	switch key.(type) {
	case *rsa.PublicKey:
		return "rsa"
	case *ecdsa.PublicKey:
		return "ec"
	case ed25519.PublicKey:
		return "ed25519"
	}
	return ""
}

// A signer signs by a key and a hash.
type signer struct {
	key crypto.Signer
	alg *algorithm
}

func newSigner(key crypto.Signer, hash string) (*signer, error) {
	h, err := digest(hash)
	if err != nil {
		return nil, err
	}
	kind := keyKindOf(key.Public())
	alg := algorithmOf(func(a algorithm) bool { return a.key == kind && (a.hash == h || a.hash == 0) })
	if alg == nil {
		return nil, x509Error("a key of type %T cannot sign with %s", key, hash)
	}
	return &signer{key, alg}, nil
}

func (s *signer) identifier() pkix.AlgorithmIdentifier {
	oid, _ := parseOID(s.alg.oid)
	id := pkix.AlgorithmIdentifier{Algorithm: oid}
	if s.alg.key == "rsa" {
		id.Parameters = asn1.NullRawValue
	}
	return id
}

func (s *signer) sign(message []byte) (asn1.BitString, error) {
	if s.alg.hash != 0 {
		h := s.alg.hash.New()
		h.Write(message)
		message = h.Sum(nil)
	}
	sig, err := s.key.Sign(rand.Reader, message, s.alg.hash)
	return asn1.BitString{Bytes: sig, BitLength: 8 * len(sig)}, err
}

var errUnsigned = errors.New("the signature does not fit")

// verify reports whether a public key made a signature.
func verify(key crypto.PublicKey, id pkix.AlgorithmIdentifier, message []byte, sig asn1.BitString) error {
	alg := algorithmOf(func(a algorithm) bool { return a.oid == id.Algorithm.String() })
	if alg == nil || alg.key != keyKindOf(key) {
		return errUnsigned
	}
	sum := message
	if alg.hash != 0 {
		h := alg.hash.New()
		h.Write(message)
		sum = h.Sum(nil)
	}
	good := false
	switch k := key.(type) {
	case *rsa.PublicKey:
		good = rsa.VerifyPKCS1v15(k, alg.hash, sum, sig.Bytes) == nil
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(k, sum, sig.Bytes)
	case ed25519.PublicKey:
		good = ed25519.Verify(k, sum, sig.Bytes)
	}
	if !good {
		return errUnsigned
	}
	return nil
}

// defaults fills in what arguments do not say (CERT_DEFAULTS of the original).
func defaults(k *data.Map) {
	for _, d := range []struct {
		name  string
		value any
	}{{"days_valid", int64(365)}, {"version", int64(3)}, {"serial_bits", int64(64)}, {"algorithm", "sha256"}} {
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
	if _, err := fmt.Sscanf(data.Str(v), "%d", &n); err != nil || fmt.Sprint(n) != strings.TrimSpace(data.Str(v)) {
		return 0, fmt.Errorf("%s is not a number", data.Repr(v))
	}
	return n, nil
}

// serialNumber returns the serial number of arguments, or a new one, which it leaves there.
func serialNumber(k *data.Map) (*big.Int, error) {
	if !k.Has("serial_number") {
		size, err := number(k, "serial_bits")
		if err != nil {
			return nil, err
		}
		if size < 1 || size > 160 {
			return nil, loader.Exception("ValueError", "serial_bits: %d is not between 1 and 160", size)
		}
		// One bit less: a number whose first bit is set takes a byte more, and RFC 5280 counts 20 of them.
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
		return nil, loader.Exception("ValueError", "invalid literal for int() with base 16: %s", data.Repr(text))
	}
	return n, nil
}

func validityOf(k *data.Map) (validity, error) {
	days, err := number(k, "days_valid")
	if err != nil {
		return validity{}, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	v := validity{now, now.AddDate(0, 0, days)}
	for _, end := range []struct {
		name string
		at   *time.Time
	}{{"not_before", &v.NotBefore}, {"not_after", &v.NotAfter}} {
		if !k.Has(end.name) {
			continue
		}
		text := data.Str(k.Value(end.name))
		if *end.at, err = time.Parse(layout, text); err != nil {
			return v, loader.Invocation("%s: %s is not in required format %%Y-%%m-%%d %%H:%%M:%%S", end.name, text)
		}
	}
	return v, nil
}

// A draft is a certificate on its way.
type draft struct {
	m       *module
	args    *data.Map
	cert    certificate
	issuer  *certificate // who signs; the certificate itself where it signs itself
	key     crypto.PublicKey
	wishes  *data.Map // extensions of a request, by their short names
	signKey crypto.Signer
}

// newCertificate makes a certificate of arguments, which are those after the signing policy.
func (m *module) newCertificate(k *data.Map) (*certificate, error) {
	defaults(k)
	d := &draft{m: m, args: k, wishes: data.NewMap()}
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
	d.signKey, err = d.m.privateKey(d.args.Value("signing_private_key"), d.args.Value("signing_private_key_passphrase"))
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
		wishes, err := r.extensions()
		if err != nil {
			return err
		}
		d.wishes = showExtensions(wishes)
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
		d.m.env.Log.Warnf("A subject cannot have these values, which are left out: %s", strings.Join(refused, ", "))
	}
	d.cert.TBS.Subject, err = n.marshal()
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
		if own, err = d.issuer.publicKey(); err != nil {
			return err
		}
	}
	if samePublic(own, d.signKey.Public()) {
		return nil
	}
	return loader.Invocation("signing_private_key: %s does no match signing_cert: %s",
		concealed(data.Str(d.args.Value("signing_private_key"))), data.Str(orEmpty(d.args.Value("signing_cert"))))
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// extend adds extensions: those of the arguments, and of a request what the arguments do not say.
func (d *draft) extend() error {
	for _, e := range extensions() {
		value, ok := e.wanted(d.args)
		if !ok {
			value, ok = e.wanted(d.wishes)
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

// wanted returns the value of an extension among arguments, by its short or its long name.
func (e *extension) wanted(k *data.Map) (string, bool) {
	for _, name := range []string{e.short, e.long} {
		if v := k.Value(name); data.Truth(v) {
			return data.Str(v), true
		}
	}
	return "", false
}

// withHash puts the hash of a public key where a key identifier asks for it.
func withHash(e *extension, value string, key crypto.PublicKey) string {
	if e.short != "subjectKeyIdentifier" {
		return value
	}
	return strings.ReplaceAll(value, "hash", prettyHex(keyHash(key)))
}

func (d *draft) sign() error {
	s, err := newSigner(d.signKey, data.Str(d.args.Value("algorithm")))
	if err != nil {
		return err
	}
	d.cert.TBS.Algorithm, d.cert.Algorithm = s.identifier(), s.identifier()
	tbs, err := asn1.Marshal(d.cert.TBS)
	if err != nil {
		return x509Error("encode a certificate: %w", err)
	}
	d.cert.TBS.Raw = tbs
	if d.cert.Signature, err = s.sign(tbs); err != nil {
		return x509Error("sign a certificate: %w", err)
	}
	d.cert.Raw, err = asn1.Marshal(d.cert)
	if err != nil {
		return x509Error("encode a certificate: %w", err)
	}
	c, err := parseCertificate(d.cert.Raw)
	if err != nil {
		return err
	}
	d.cert = *c
	return nil
}
