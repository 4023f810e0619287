package draft

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// maxFile is the limit of a file that is read, in bytes.
const maxFile = 16 << 20

// A Reader reads the objects that arguments refer to: by a path, a PEM text, hex or base64 text, or
// bytes.
type Reader struct {
	Root    string // root directory of the system; "" means /
	NoFiles bool   // reject paths: the argument comes from another host
}

// Path returns the full path of a file of the system.
func (r Reader) Path(path string) string {
	if r.Root == "" {
		return path
	}
	return filepath.Join(r.Root, path)
}

// IsFile reports whether an argument is the path of a file.
func (r Reader) IsFile(v any) bool {
	path, ok := v.(string)
	if !ok || path == "" || r.NoFiles || len(path) > 4096 || strings.ContainsAny(path, "\n\x00") {
		return false
	}
	info, err := os.Stat(r.Path(path))
	return err == nil && info.Mode().IsRegular()
}

// Bytes returns the bytes that an argument refers to.
func (r Reader) Bytes(v any) ([]byte, error) {
	if r.IsFile(v) {
		return r.file(v.(string))
	}
	switch v := v.(type) {
	case []byte:
		return v, nil
	case string:
		if strings.Contains(v, "-----BEGIN") {
			return []byte(v), nil
		}
		if b, err := fromHex(v); err == nil {
			return b, nil
		}
		if b, err := fromBase64(v); err == nil {
			return b, nil
		}
	}
	return nil, loader.Invocation("Could not load provided source. You need to pass an existing file, (PEM|hex|base64)-encoded string or raw bytes.")
}

func (r Reader) file(path string) ([]byte, error) {
	f, err := os.Open(r.Path(path))
	if errors.Is(err, fs.ErrPermission) {
		return nil, loader.Exception("PermissionError", "[Errno 13] Permission denied: %s",
			data.Repr(path))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("read %s: the file is larger than %d bytes", path, maxFile)
	}
	return b, err
}

// fromHex decodes hex digits as Python's bytes.fromhex does: blanks may separate bytes.
func fromHex(text string) ([]byte, error) {
	var digits strings.Builder
	for _, word := range strings.FieldsFunc(text, unicode.IsSpace) {
		if len(word)%2 != 0 {
			return nil, hex.ErrLength
		}
		digits.WriteString(word)
	}
	return hex.DecodeString(digits.String())
}

// fromBase64 decodes as Python's base64.b64decode does: characters outside the alphabet are
// skipped, and padding ends the text.
func fromBase64(text string) ([]byte, error) {
	var signs strings.Builder
	pads := 0
	for _, c := range []byte(text) {
		switch {
		case c == '=':
			if pads++; signs.Len()%4 >= 2 && signs.Len()%4+pads >= 4 {
				return base64.RawStdEncoding.DecodeString(signs.String())
			}
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
			signs.WriteByte(c)
			pads = 0
		}
	}
	if signs.Len()%4 != 0 {
		return nil, errors.New("incorrect padding")
	}
	return base64.StdEncoding.DecodeString(signs.String())
}

// begins reports whether bytes contain PEM.
func begins(b []byte) bool { return strings.Contains(string(b), "-----BEGIN") }

// Secret returns a passphrase; nil if there is none.
func Secret(v any) *string {
	if v == nil {
		return nil
	}
	text := data.Str(v)
	if b, ok := v.([]byte); ok {
		text = string(b)
	}
	return &text
}

// Key returns a private key and its encoding: pem, der or pkcs12.
func (r Reader) Key(v, passphrase any) (crypto.Signer, string, error) {
	b, err := r.Bytes(v)
	if err != nil {
		return nil, "", err
	}
	secret := Secret(passphrase)
	if begins(b) {
		key, err := certificate.ParseKeyPEM(b, secret)
		return key, "pem", keyError(err)
	}
	key, err := certificate.ParseKey(b, secret)
	switch {
	case err == nil:
		return key, "der", nil
	case errors.Is(err, certificate.ErrPassphrase), errors.Is(err, certificate.ErrEncrypted),
		errors.Is(err, certificate.ErrEd448):
		return nil, "", keyError(err)
	}
	store, err := certificate.ParseStore(b, secret)
	if err != nil {
		return nil, "", loader.Invocation("Could not deserialize binary data, neither as DER nor PKCS#12.")
	}
	if store.Key == nil {
		return nil, "", loader.Execution("PKCS12-encoded blob does not contain a private key.")
	}
	return store.Key, "pkcs12", nil
}

func keyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, certificate.ErrPassphrase):
		return loader.Invocation("Bad decrypt - is the password correct?")
	case errors.Is(err, certificate.ErrEncrypted):
		return loader.Invocation("Private key is encrypted. Please provide a password.")
	case errors.Is(err, certificate.ErrPlain):
		return loader.Invocation("Private key is unencrypted")
	case errors.Is(err, certificate.ErrEd448):
		return loader.Execution("%w", err)
	}
	return loader.Execution("Could not load PEM-encoded private key")
}

// PublicKey returns a public key.
func (r Reader) PublicKey(v any) (crypto.PublicKey, error) {
	b, err := r.Bytes(v)
	if err != nil {
		return nil, err
	}
	encoding := "DER"
	if begins(b) {
		encoding = "PEM"
		block, _ := pem.Decode(b)
		if block == nil {
			return nil, loader.Execution("Could not load PEM-encoded public key.")
		}
		if b = block.Bytes; block.Type == "RSA PUBLIC KEY" {
			if key, err := x509.ParsePKCS1PublicKey(b); err == nil {
				return key, nil
			}
		}
	}
	key, err := x509.ParsePKIXPublicKey(b)
	if err != nil {
		return nil, loader.Execution("Could not load %s-encoded public key.", encoding)
	}
	return key, nil
}

// A Found is a certificate with its encoding and accompanying objects. Encoding is pem, der,
// pkcs7_pem, pkcs7_der or pkcs12.
type Found struct {
	Cert     *certificate.Certificate
	Encoding string
	Chain    []*certificate.Certificate
	Store    *certificate.Store // of pkcs12
}

// Certificate returns a certificate.
func (r Reader) Certificate(v any) (*certificate.Certificate, error) {
	f, err := r.Found(v, nil)
	if err != nil {
		return nil, err
	}
	return f.Cert, nil
}

// Found returns a certificate and its accompanying objects. passphrase is that of PKCS#12; nil
// means none.
func (r Reader) Found(v, passphrase any) (*Found, error) {
	b, err := r.Bytes(v)
	if err != nil {
		return nil, err
	}
	if begins(b) {
		return fromPEM(b)
	}
	if c, err := certificate.Parse(b); err == nil {
		return &Found{Cert: c, Encoding: "der"}, nil
	}
	if s, err := certificate.ParseStore(b, Secret(passphrase)); err == nil && s.Cert != nil {
		return &Found{s.Cert, "pkcs12", s.Chain, s}, nil
	}
	if certs, err := certificate.ParseBundle(b); err == nil {
		return &Found{Cert: certs[0], Encoding: "pkcs7_der", Chain: certs[1:]}, nil
	}
	return nil, loader.Invocation("Could not deserialize binary data, neither as DER nor PKCS#7, PKCS#12.")
}

func fromPEM(b []byte) (*Found, error) {
	blocks := certificate.SplitPEM(b)
	if len(blocks) == 0 {
		return nil, loader.Exception("IndexError", "list index out of range")
	}
	first, _ := pem.Decode(blocks[0])
	if strings.Contains(string(blocks[0]), "-----BEGIN PKCS7") {
		if first != nil {
			if certs, err := certificate.ParseBundle(first.Bytes); err == nil {
				return &Found{Cert: certs[0], Encoding: "pkcs7_pem", Chain: certs[1:]}, nil
			}
		}
		return nil, loader.Execution("Could not load PEM-encoded PKCS#7 blob")
	}
	c, err := certOf(first)
	if err != nil {
		return nil, loader.Execution("Could not load PEM-encoded certificate.")
	}
	f := &Found{Cert: c, Encoding: "pem"}
	for _, block := range blocks[1:] {
		one, _ := pem.Decode(block)
		if c, err := certOf(one); err == nil {
			f.Chain = append(f.Chain, c)
		}
	}
	return f, nil
}

func certOf(b *pem.Block) (*certificate.Certificate, error) {
	if b == nil || b.Type != "CERTIFICATE" && b.Type != "X509 CERTIFICATE" {
		return nil, errors.New("no certificate")
	}
	return certificate.Parse(b.Bytes)
}

// der returns the DER bytes of an argument, and their original encoding.
func (r Reader) der(v any, what string, kinds ...string) (der []byte, encoding string, err error) {
	b, err := r.Bytes(v)
	if err != nil || !begins(b) {
		return b, "der", err
	}
	for rest := b; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, "", loader.Invocation("Could not load PEM-encoded %s.", what)
		}
		for _, kind := range kinds {
			if block.Type == kind {
				return block.Bytes, "pem", nil
			}
		}
	}
}

// List returns a revocation list and its encoding: pem or der.
func (r Reader) List(v any) (*certificate.List, string, error) {
	const what = "certificate revocation list"
	der, encoding, err := r.der(v, what, "X509 CRL")
	if err != nil {
		return nil, "", err
	}
	l, err := certificate.ParseList(der)
	if err != nil {
		return nil, "", loader.Invocation("Could not load %s-encoded %s.",
			strings.ToUpper(encoding), what)
	}
	return l, encoding, nil
}

// ErrVersion is returned by Request if the version is not that of RFC 2986.
var ErrVersion = errors.New("not a valid CSR version")

// Request returns a request and its encoding: pem or der.
func (r Reader) Request(v any) (*certificate.Request, string, error) {
	const what = "certificate signing request"
	der, encoding, err := r.der(v, what, "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST")
	if err != nil {
		return nil, "", err
	}
	q, err := certificate.ParseRequest(der)
	if err != nil {
		return nil, "", loader.Invocation("Could not load %s-encoded %s.",
			strings.ToUpper(encoding), what)
	}
	if q.Info.Version != 0 {
		return nil, "", loader.Exception("cryptography.x509.base.InvalidVersion",
			"%d is %w", q.Info.Version, ErrVersion)
	}
	return q, encoding, nil
}

// PublicKeyOf returns the public key of a public key, a certificate, a private key or a request.
func (r Reader) PublicKeyOf(v, passphrase any) (crypto.PublicKey, error) {
	if key, err := r.PublicKey(v); err == nil || !isSaltError(err) {
		return key, err
	}
	if f, err := r.Found(v, passphrase); err == nil {
		return f.Cert.PublicKey()
	} else if !isSaltError(err) {
		return nil, err
	}
	if key, _, err := r.Key(v, passphrase); err == nil {
		return key.Public(), nil
	} else if !isSaltError(err) {
		return nil, err
	}
	if q, _, err := r.Request(v); err == nil {
		return q.PublicKey()
	} else if !isSaltError(err) {
		return nil, err
	}
	return nil, loader.Execution("Could not load key as certificate, public key, private key, CSR or CRL")
}

// isSaltError reports whether an error is one of those by which Salt reports an invalid argument.
func isSaltError(err error) bool {
	kind := loader.KindOf(err)
	var e *loader.Error
	return errors.As(err, &e) && (kind == loader.KindExecution || kind == loader.KindInvocation)
}
