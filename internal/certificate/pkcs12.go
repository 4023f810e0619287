package certificate

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"unicode/utf16"

	"github.com/brineproject/brine/internal/pbes2"
)

const (
	oidData          = "1.2.840.113549.1.7.1"
	oidEncryptedData = "1.2.840.113549.1.7.6"
	oidKeyBag        = "1.2.840.113549.1.12.10.1.1"
	oidShroudedBag   = "1.2.840.113549.1.12.10.1.2"
	oidCertBag       = "1.2.840.113549.1.12.10.1.3"
	oidX509          = "1.2.840.113549.1.9.22.1"
	oidFriendlyName  = "1.2.840.113549.1.9.20"
	oidLocalKeyID    = "1.2.840.113549.1.9.21"
	oidSHA1          = "1.3.14.3.2.26"
	oidSHA256        = "2.16.840.1.101.3.4.2.1"

	// maxParts is the limit of parts in a container, because each costs work.
	maxParts = 64

	// compatRounds is the number of Salt's pkcs12_encryption_compat.
	compatRounds = 50000
)

// The structures of RFC 7292.
type (
	pfx struct {
		Version int
		Safe    contentInfo
		MAC     macData `asn1:"optional"`
	}
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"optional,explicit,tag:0"`
	}
	macData struct {
		MAC    digestInfo
		Salt   []byte
		Rounds int `asn1:"optional,default:1"`
	}
	digestInfo struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}
	encryptedData struct {
		Version int
		Info    encryptedInfo
	}
	encryptedInfo struct {
		Type      asn1.ObjectIdentifier
		Algorithm pkix.AlgorithmIdentifier
		Content   []byte `asn1:"optional,tag:0"`
	}
	safeBag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue  `asn1:"explicit,tag:0"`
		Attributes []bagAttribute `asn1:"set,optional,omitempty"`
	}
	bagAttribute struct {
		ID    asn1.ObjectIdentifier
		Value asn1.RawValue `asn1:"set"`
	}
	certBag struct {
		ID   asn1.ObjectIdentifier
		Data []byte `asn1:"explicit,tag:0"`
	}
)

// A Store is the content of a PKCS#12 container.
type Store struct {
	Key          crypto.Signer // nil if there is none
	Cert         *Certificate  // that of the key; nil if there is none
	FriendlyName string        // of the certificate; "" if there is none
	Chain        []*Certificate
}

// errStore reports a damaged container or a wrong passphrase; PKCS#12 cannot distinguish them.
var errStore = errors.New("invalid password or PKCS#12 data")

// ParseStore parses a PKCS#12 container. passphrase is nil if there is none.
func ParseStore(der []byte, passphrase *string) (*Store, error) {
	var p pfx
	var safe []byte
	if Whole(der, &p) != nil || p.Version != 3 || Whole(p.Safe.Content.Bytes, &safe) != nil {
		return nil, errStore
	}
	secret := ""
	if passphrase != nil {
		secret = *passphrase
	}
	if p.MAC.MAC.Digest != nil && !p.MAC.fits(secret, passphrase == nil, safe) {
		return nil, errStore
	}
	s, err := readStore(safe, newOpener(secret))
	if err != nil {
		return nil, errStore
	}
	return s, nil
}

// fits reports whether the MAC of a content matches a passphrase. Without a passphrase some writers
// use no bytes and some an empty text.
func (m *macData) fits(secret string, none bool, content []byte) bool {
	newHash := macHash(m.MAC.Algorithm.Algorithm.String())
	if newHash == nil || pbes2.Take(m.Rounds) != nil {
		return false
	}
	secrets := [][]byte{bmp(secret)}
	if none {
		secrets = append(secrets, nil)
	}
	for _, s := range secrets {
		if hmac.Equal(mac(newHash, s, m.Salt, m.Rounds, content), m.MAC.Digest) {
			return true
		}
	}
	return false
}

func macHash(oid string) func() hash.Hash {
	switch oid {
	case oidSHA1:
		return sha1.New
	case oidSHA256:
		return sha256.New
	case "2.16.840.1.101.3.4.2.2":
		return sha512.New384
	case "2.16.840.1.101.3.4.2.3":
		return sha512.New
	}
	return nil
}

func mac(newHash func() hash.Hash, secret, salt []byte, rounds int, content []byte) []byte {
	h := hmac.New(newHash, derive(newHash, secret, salt, 3, rounds, newHash().Size()))
	h.Write(content)
	return h.Sum(nil)
}

// bmp encodes a text in UTF-16 with a final zero, as PKCS#12 does with passphrases.
func bmp(text string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = binary.BigEndian.AppendUint16(out, unit)
	}
	return append(out, 0, 0)
}

// derive derives bytes for a purpose from a passphrase (RFC 7292, appendix B.2).
func derive(newHash func() hash.Hash, secret, salt []byte, purpose byte, rounds, size int) []byte {
	h := newHash()
	v := h.BlockSize()
	input := append(stretch(salt, v), stretch(secret, v)...)
	var out []byte
	for len(out) < size {
		h.Reset()
		h.Write(bytes.Repeat([]byte{purpose}, v))
		h.Write(input)
		a := h.Sum(nil)
		for range rounds - 1 {
			h.Reset()
			h.Write(a)
			a = h.Sum(a[:0])
		}
		out = append(out, a...)
		b := new(big.Int).SetBytes(stretch(a, v)[:v])
		b.Add(b, big.NewInt(1))
		limit := new(big.Int).Lsh(big.NewInt(1), uint(8*v))
		for i := 0; i < len(input); i += v {
			n := new(big.Int).SetBytes(input[i : i+v])
			n.Add(n, b).Mod(n, limit).FillBytes(input[i : i+v])
		}
	}
	return out[:size]
}

// stretch repeats bytes up to a multiple of size.
func stretch(b []byte, size int) []byte {
	if len(b) == 0 {
		return nil
	}
	n := (len(b) + size - 1) / size * size
	return bytes.Repeat(b, n/len(b)+1)[:n]
}

// bags holds the objects found in a container.
type bags struct {
	key   crypto.Signer
	keyID []byte
	certs []taggedCert
}

type taggedCert struct {
	cert  *Certificate
	name  string
	keyID []byte
}

func readStore(safe []byte, o *opener) (*Store, error) {
	var contents []contentInfo
	if err := Whole(safe, &contents); err != nil {
		return nil, err
	}
	if len(contents) > maxParts {
		return nil, fmt.Errorf("%d parts", len(contents))
	}
	var b bags
	for _, c := range contents {
		plain, err := c.open(o)
		if err != nil {
			return nil, err
		}
		var list []safeBag
		if err := Whole(plain, &list); err != nil {
			return nil, err
		}
		if len(list) > maxParts {
			return nil, fmt.Errorf("%d bags", len(list))
		}
		for _, bag := range list {
			if err := b.add(bag, o); err != nil {
				return nil, err
			}
		}
	}
	return b.store(), nil
}

func (c contentInfo) open(o *opener) ([]byte, error) {
	switch c.Type.String() {
	case oidData:
		var plain []byte
		err := Whole(c.Content.Bytes, &plain)
		return plain, err
	case oidEncryptedData:
		var e encryptedData
		if err := Whole(c.Content.Bytes, &e); err != nil {
			return nil, err
		}
		return o.open(e.Info.Algorithm, e.Info.Content)
	}
	return nil, fmt.Errorf("content of type %v", c.Type)
}

// add adds a bag; of several keys the first counts.
func (b *bags) add(bag safeBag, o *opener) (err error) {
	name, keyID := bag.tags()
	switch bag.ID.String() {
	case oidKeyBag, oidShroudedBag:
		if b.key != nil {
			return nil
		}
		b.keyID = keyID
		if bag.ID.String() == oidKeyBag {
			b.key, err = parsePlain(bag.Value.Bytes)
		} else {
			b.key, err = parseKey(bag.Value.Bytes, o)
		}
	case oidCertBag:
		var c certBag
		if err := Whole(bag.Value.Bytes, &c); err != nil {
			return err
		}
		cert, err := Parse(c.Data)
		if err != nil {
			return err
		}
		b.certs = append(b.certs, taggedCert{cert, name, keyID})
	}
	return err
}

func (b safeBag) tags() (name string, keyID []byte) {
	for _, a := range b.Attributes {
		var v asn1.RawValue
		if _, err := asn1.Unmarshal(a.Value.Bytes, &v); err != nil {
			continue
		}
		switch a.ID.String() {
		case oidFriendlyName:
			name = Attribute{Value: v}.Text()
		case oidLocalKeyID:
			keyID = v.Bytes
		}
	}
	return name, keyID
}

// store sorts the objects: the certificate of the key, and others.
func (b *bags) store() *Store {
	s := &Store{Key: b.key}
	for _, c := range b.certs {
		if s.Cert == nil && b.key != nil && b.owns(c) {
			s.Cert, s.FriendlyName = c.cert, c.name
			continue
		}
		s.Chain = append(s.Chain, c.cert)
	}
	return s
}

func (b *bags) owns(c taggedCert) bool {
	if len(c.keyID) > 0 || len(b.keyID) > 0 {
		return bytes.Equal(c.keyID, b.keyID)
	}
	key, err := c.cert.PublicKey()
	return err == nil && Same(key, b.key.Public())
}

// Marshal returns the container. If passphrase is nil it is not encrypted; compat encrypts with
// Triple DES, which old systems can read.
func (s *Store) Marshal(passphrase *string, compat bool) ([]byte, error) {
	w := &storeWriter{passphrase: passphrase, compat: compat}
	if s.Cert != nil && s.Key != nil {
		id := sha1.Sum(s.Cert.Raw)
		w.keyID = id[:]
	}
	var contents []contentInfo
	for _, part := range []func(*Store) (*contentInfo, error){w.certs, w.key} {
		c, err := part(s)
		if err != nil {
			return nil, fmt.Errorf("encode PKCS#12: %w", err)
		}
		if c != nil {
			contents = append(contents, *c)
		}
	}
	safe, err := asn1.Marshal(contents)
	if err != nil {
		return nil, fmt.Errorf("encode PKCS#12: %w", err)
	}
	return w.whole(safe)
}

type storeWriter struct {
	passphrase *string
	compat     bool
	keyID      []byte
}

func (w *storeWriter) seal(plain []byte) (pkix.AlgorithmIdentifier, []byte, error) {
	if w.compat {
		return seal3DES(*w.passphrase, plain)
	}
	return seal(*w.passphrase, plain)
}

func explicit(v any) (asn1.RawValue, error) {
	der, err := asn1.Marshal(v)
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true,
		Bytes: der}, err
}

// The same structures without explicit tags, which explicit adds to their values.
type (
	rawContent struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}
	rawBag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue
		Attributes []asn1.RawValue `asn1:"set,optional,omitempty"`
	}
)

func (w *storeWriter) certs(s *Store) (*contentInfo, error) {
	var list []rawBag
	add := func(c *Certificate, name string, keyID []byte) error {
		value, err := explicit(certBag{known(oidX509), c.Raw})
		if err != nil {
			return err
		}
		attributes, err := tagsOf(name, keyID)
		list = append(list, rawBag{known(oidCertBag), value, attributes})
		return err
	}
	if s.Cert != nil {
		if err := add(s.Cert, s.FriendlyName, w.keyID); err != nil {
			return nil, err
		}
	}
	for _, c := range s.Chain {
		if err := add(c, "", nil); err != nil {
			return nil, err
		}
	}
	if list == nil {
		return nil, nil
	}
	plain, err := asn1.Marshal(list)
	if err != nil {
		return nil, err
	}
	if w.passphrase == nil {
		return content(oidData, plain)
	}
	alg, data, err := w.seal(plain)
	if err != nil {
		return nil, err
	}
	return content(oidEncryptedData, encryptedData{0, encryptedInfo{known(oidData), alg, data}})
}

func (w *storeWriter) key(s *Store) (*contentInfo, error) {
	if s.Key == nil {
		return nil, nil
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.Key)
	if err != nil {
		return nil, err
	}
	bag := rawBag{ID: known(oidKeyBag),
		Value: asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: der}}
	if w.passphrase != nil {
		alg, data, err := w.seal(der)
		if err != nil {
			return nil, err
		}
		bag.ID = known(oidShroudedBag)
		if bag.Value, err = explicit(encryptedKey{alg, data}); err != nil {
			return nil, err
		}
	}
	if bag.Attributes, err = tagsOf(s.FriendlyName, w.keyID); err != nil {
		return nil, err
	}
	plain, err := asn1.Marshal([]rawBag{bag})
	if err != nil {
		return nil, err
	}
	return content(oidData, plain)
}

func content(oid string, v any) (*contentInfo, error) {
	der, err := asn1.Marshal(v)
	return &contentInfo{known(oid),
		asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: der}}, err
}

// tagsOf returns the attributes of a bag: its name and the identifier shared by a key and its
// certificate.
func tagsOf(name string, keyID []byte) ([]asn1.RawValue, error) {
	var list []asn1.RawValue
	add := func(oid string, v any) error {
		der, err := asn1.Marshal(v)
		if err != nil {
			return err
		}
		der, err = asn1.Marshal(struct {
			ID    asn1.ObjectIdentifier
			Value asn1.RawValue
		}{known(oid), asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: der}})
		list = append(list, asn1.RawValue{FullBytes: der})
		return err
	}
	if name != "" {
		text := bmp(name)
		if err := add(oidFriendlyName,
			asn1.RawValue{Tag: asn1.TagBMPString, Bytes: text[:len(text)-2]}); err != nil {
			return nil, err
		}
	}
	if keyID != nil {
		if err := add(oidLocalKeyID, keyID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// whole wraps the content with its MAC.
func (w *storeWriter) whole(safe []byte) ([]byte, error) {
	secret, newHash, oid, count := "", sha256.New, oidSHA256, rounds
	if w.passphrase != nil {
		secret = *w.passphrase
	}
	if w.compat {
		newHash, oid, count = sha1.New, oidSHA1, compatRounds
	}
	salt := random(8)
	inner, err := content(oidData, safe)
	if err != nil {
		return nil, err
	}
	code := digestInfo{pkix.AlgorithmIdentifier{Algorithm: known(oid),
		Parameters: asn1.NullRawValue}, mac(newHash, bmp(secret), salt, count, safe)}
	return asn1.Marshal(struct {
		Version int
		Safe    rawContent
		MAC     macData
	}{3, rawContent{inner.Type, inner.Content}, macData{code, salt, count}})
}
