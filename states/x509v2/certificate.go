package x509v2

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

type certificateArgs struct {
	Name                        string
	DaysRemaining               any       `default:"None"`
	CaServer                    any       `default:"None"`
	SigningPolicy               any       `default:"None"`
	Encoding                    string    `default:"'pem'"`
	AppendCerts                 any       `default:"None"`
	Copypath                    any       `default:"None"`
	PrependCn                   any       `default:"False"`
	Digest                      any       `default:"'sha256'"`
	SigningPrivateKey           any       `default:"None"`
	SigningPrivateKeyPassphrase any       `default:"None"`
	SigningCert                 any       `default:"None"`
	PublicKey                   any       `default:"None"`
	PrivateKey                  any       `default:"None"`
	PrivateKeyPassphrase        any       `default:"None"`
	Csr                         any       `default:"None"`
	Subject                     any       `default:"None"`
	SerialNumber                any       `default:"None"`
	NotBefore                   any       `default:"None"`
	NotAfter                    any       `default:"None"`
	DaysValid                   any       `default:"None"`
	Pkcs12Passphrase            any       `default:"None"`
	Pkcs12EncryptionCompat      any       `default:"False"`
	Pkcs12Friendlyname          any       `default:"None"`
	Kwargs                      *data.Map `kwargs:"kwargs"`
}

// certificateManaged manages a certificate in a file. A new certificate is created if it is
// missing, if it differs from the desired one, or if it is about to expire.
//
// days_remaining : 90
//
//	Create a new certificate if it expires in fewer than this many days.
//
// ca_server, signing_policy, encoding, append_certs, copypath, prepend_cn, digest,
// signing_private_key, signing_private_key_passphrase, signing_cert, public_key, private_key,
// private_key_passphrase, csr, subject, serial_number, not_before, not_after, days_valid,
// pkcs12_passphrase, pkcs12_encryption_compat, pkcs12_friendlyname
//
//	As in the function x509.create_certificate, including the arguments for subject and
//	extensions.
//
// All arguments of file.managed for owners, mode, directories and backups are accepted.
//
//	/etc/pki/www.crt:
//	  x509.certificate_managed:
//	    - ca_server: ca
//	    - signing_policy: www
//	    - private_key: /etc/pki/www.key
//	    - CN: www.example.com
//	    - days_remaining: 7
func (m *module) certificateManaged(ctx context.Context, a certificateArgs) (any, error) {
	c := &certificateState{m: m, a: a}
	kwargs := a.Kwargs.Clone()
	if v, ok := kwargs.Get("algorithm"); ok {
		kwargs.Delete("algorithm")
		c.a.Digest = v
	}
	draft.Modern(kwargs)
	if a.DaysValid == nil && a.NotAfter == nil {
		c.a.DaysValid = int64(365)
	}
	if list, ok := a.AppendCerts.([]any); ok {
		c.chain = list
	} else if data.Truth(a.AppendCerts) {
		c.chain = []any{a.AppendCerts}
	}
	t := &thing{m: m, title: "certificate", name: a.Name, encoding: a.Encoding, look: c.look,
		content: c.content}
	t.file, c.words = split(kwargs)
	if a.Encoding == "pkcs12" && !data.Truth(t.file.Value("mode")) {
		if _, err := os.Lstat(m.reader().Path(a.Name)); errors.Is(err, fs.ErrNotExist) {
			t.file.Set("mode", "0600") // a new file contains the key
		}
	}
	return t.ensure(ctx)
}

// certificateState is the desired certificate, and what was found of it.
type certificateState struct {
	m     *module
	a     certificateArgs
	chain []any
	words *data.Map // subject and extensions
	now   *draft.Found
}

// arguments returns the arguments of create_certificate.
func (c *certificateState) arguments() *data.Map {
	a := c.a
	args := data.NewMap("digest", a.Digest, "signing_private_key", a.SigningPrivateKey,
		"signing_private_key_passphrase", a.SigningPrivateKeyPassphrase,
		"signing_cert", a.SigningCert, "public_key", a.PublicKey, "private_key", a.PrivateKey,
		"private_key_passphrase", a.PrivateKeyPassphrase, "csr", a.Csr, "subject", a.Subject,
		"serial_number", a.SerialNumber, "not_before", a.NotBefore, "not_after", a.NotAfter,
		"days_valid", a.DaysValid)
	args.Update(c.words)
	return args
}

func (c *certificateState) look(ctx context.Context, path string, there bool) (seen, error) {
	now := seen{changes: data.NewMap()}
	if !there {
		now.changes.Set("created", c.a.Name)
		return now, nil
	}
	found, err := c.m.reader().Found(path, c.a.Pkcs12Passphrase)
	if has(err, "Could not deserialize binary data") {
		now.garbage = true
		return now, nil
	}
	if err != nil {
		return now, err
	}
	c.now, now.again = found, true
	if err := c.container(now.changes); err != nil {
		return now, err
	}
	return now, c.compare(ctx, now.changes)
}

// container compares encoding, expiry and appended certificates.
func (c *certificateState) container(changes *data.Map) error {
	name, _ := c.a.Pkcs12Friendlyname.(string)
	if c.now.Encoding != c.a.Encoding {
		changes.Set("encoding", c.a.Encoding)
	} else if c.a.Encoding == "pkcs12" && c.now.Store.FriendlyName != name {
		changes.Set("pkcs12_friendlyname", c.a.Pkcs12Friendlyname)
	}
	days, err := draft.Days(c.a.DaysRemaining, 90)
	if err != nil {
		return err
	}
	if soon(c.now.Cert.TBS.Validity.NotAfter, days) {
		changes.Set("expiration", true)
	}
	same := len(c.chain) == len(c.now.Chain)
	for i, one := range c.chain {
		wanted, err := c.m.reader().Certificate(one)
		if err != nil {
			return err
		}
		same = same && bytes.Equal(wanted.Raw, c.now.Chain[i].Raw)
	}
	if !same {
		changes.Set("additional_certs", true)
	}
	return nil
}

// compare compares the certificate itself.
func (c *certificateState) compare(ctx context.Context, changes *data.Map) error {
	args := c.arguments()
	policy, err := c.policy(ctx)
	if err != nil {
		return err
	}
	draft.Merge(policy, args)
	wanted, err := c.m.reader().Cert(args, c.a.CaServer != nil)
	if err != nil {
		return err
	}
	is := c.now.Cert
	if err := digest(changes, is.Algorithm, args.Value("digest"), c.a.Digest); err != nil {
		return err
	}
	if c.a.SerialNumber != nil && wanted.Cert.TBS.Serial.Cmp(is.TBS.Serial) != 0 {
		changes.Set("serial_number", c.a.SerialNumber)
	}
	if err := keys(changes, is, wanted); err != nil {
		return err
	}
	if err := names(changes, "subject_name", is.TBS.Subject, wanted.Cert.TBS.Subject); err != nil {
		return err
	}
	if err := names(changes, "issuer_name", is.TBS.Issuer, wanted.Cert.TBS.Issuer); err != nil {
		return err
	}
	extensions(changes, is.TBS.Extensions, wanted.Cert.TBS.Extensions)
	return nil
}

// policy returns the effective signing policy: that of this minion, or of the signing one.
func (c *certificateState) policy(ctx context.Context) (*data.Map, error) {
	if c.a.CaServer == nil {
		return draft.SigningPolicy(ctx, c.m.env, c.a.SigningPolicy)
	}
	return loader.CallAs[*data.Map](ctx, c.m.env, "x509.get_signing_policy",
		[]any{c.a.SigningPolicy}, data.NewMap("ca_server", c.a.CaServer))
}

// keys adds a change if the certificate has another key, or was signed by another.
func keys(changes *data.Map, is *certificate.Certificate, wanted *draft.Cert) error {
	now, err := is.PublicKey()
	if err != nil {
		return loader.Execution("read a public key: %w", err)
	}
	want, err := wanted.Cert.PublicKey()
	if err != nil {
		return loader.Execution("read a public key: %w", err)
	}
	if !certificate.Same(now, want) {
		changes.Set("private_key", true)
	}
	if wanted.Authority == nil {
		return nil
	}
	signing, err := wanted.Authority.PublicKey()
	if err != nil {
		return loader.Execution("read a public key: %w", err)
	}
	if !is.SignedBy(signing) {
		changes.Set("signing_private_key", true)
	}
	return nil
}

// content creates the certificate, or re-encodes the existing one if only the encoding differed.
func (c *certificateState) content(ctx context.Context, now seen) ([]byte, error) {
	a := c.a
	how := data.NewMap("encoding", a.Encoding, "append_certs", c.chain)
	if a.Encoding == "pkcs12" {
		how.Update(data.NewMap("pkcs12_passphrase", a.Pkcs12Passphrase, "pkcs12_encryption_compat",
			a.Pkcs12EncryptionCompat, "pkcs12_friendlyname", a.Pkcs12Friendlyname))
	}
	if only(now.changes, "additional_certs", "encoding", "pkcs12_friendlyname") {
		if a.Encoding == "pkcs12" {
			how.Set("private_key", a.PrivateKey)
			how.Set("private_key_passphrase", a.PrivateKeyPassphrase)
		}
		return c.m.bytes(ctx, "encode_certificate", []any{[]byte(c.now.Cert.Raw)}, how)
	}
	args := c.arguments()
	args.Update(how)
	args.Update(data.NewMap("ca_server", a.CaServer, "signing_policy", a.SigningPolicy))
	if a.CaServer == nil {
		args.Update(data.NewMap("copypath", a.Copypath, "prepend_cn", a.PrependCn))
	}
	return c.m.bytes(ctx, "create_certificate", nil, args)
}
