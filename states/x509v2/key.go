package x509v2

import (
	"context"
	"crypto"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

type pemArgs struct {
	Name   string
	Text   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// pemManaged writes a normalized PEM text to a file.
//
// All arguments of file.managed for owners, mode, directories and backups are accepted.
//
//	/etc/pki/ca.crt:
//	  x509.pem_managed:
//	    - text: {{ salt['mine.get']('ca', 'x509.get_pem_entries')['ca']['/etc/pki/ca.crt'] | json }}
func (m *module) pemManaged(ctx context.Context, a pemArgs) (any, error) {
	file, others := split(a.Kwargs)
	if err := unknown(others); err != nil {
		return nil, err
	}
	v, err := m.env.Call(ctx, "x509.get_pem_entry", nil, data.NewMap("text", a.Text))
	if err != nil {
		return failure(a.Name, err)
	}
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return m.managed(ctx, a.Name, false, file, data.NewMap("contents", v))
}

type privateKeyArgs struct {
	Name                   string
	Algo                   string    `default:"'rsa'"`
	Keysize                any       `default:"None"`
	Passphrase             any       `default:"None"`
	Encoding               string    `default:"'pem'"`
	New                    bool      `default:"False"`
	Overwrite              bool      `default:"False"`
	Pkcs12EncryptionCompat any       `default:"False"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// privateKeyManaged manages a private key in a file. An existing key with the desired properties is
// kept. Unless mode is given, only the owner may read the file.
//
// algo, keysize, passphrase, encoding, pkcs12_encryption_compat
//
//	As in the function x509.create_private_key.
//
// new
//
//	Create a new key in each run. Use it with prereq.
//
// overwrite
//
//	Replace a key that the passphrase does not decrypt, and a file that is not a key.
//
// All arguments of file.managed for owners, mode, directories and backups are accepted.
//
//	/etc/pki/www.key:
//	  x509.private_key_managed:
//	    - algo: ec
//	    - keysize: 384
func (m *module) privateKeyManaged(ctx context.Context, a privateKeyArgs) (any, error) {
	file, others := split(a.Kwargs)
	if v, ok := others.Get("bits"); ok {
		a.Keysize = v
	}
	for _, word := range []string{"bits", "cipher", "verbose", "text"} {
		others.Delete(word)
	}
	if err := unknown(others); err != nil {
		return nil, err
	}
	if !data.Truth(file.Value("mode")) {
		file.Set("mode", "0400")
	}
	if data.Truth(a.Keysize) && (a.Algo == "ed25519" || a.Algo == "ed448") {
		return failure(a.Name, loader.Invocation("keysize is an invalid parameter for %s", a.Algo))
	}
	k := &keyState{m: m, a: a}
	t := &thing{m: m, title: "private key", name: a.Name, file: file, encoding: a.Encoding,
		silent: true, look: k.look, content: k.content}
	return t.ensure(ctx)
}

// keyState is the desired private key, and the one that was found.
type keyState struct {
	m   *module
	a   privateKeyArgs
	now crypto.Signer // nil if there is none, or none that is usable
}

func (k *keyState) look(_ context.Context, path string, there bool) (seen, error) {
	now := seen{changes: data.NewMap(), again: there}
	encoding := ""
	if there && !k.a.New {
		var err error
		if encoding, err = k.read(path, now.changes); err != nil {
			return now, err
		}
	}
	switch {
	case k.now != nil:
		k.compare(now.changes, encoding)
	case there && k.a.New:
		now.changes.Set("replaced", k.a.Name)
	default:
		now.changes.Set("created", k.a.Name)
	}
	return now, nil
}

// read reads the existing key, or returns a message why it cannot be used.
func (k *keyState) read(path string, changes *data.Map) (string, error) {
	key, encoding, err := k.m.reader().Key(path, k.a.Passphrase)
	refusal := ""
	switch {
	case err == nil:
		k.now = key
		return encoding, nil
	case has(err, "Bad decrypt"):
		refusal = "The provided passphrase cannot decrypt the private key. Pass overwrite: true to force regeneration"
	case has(err, "Could not deserialize binary data"):
		if k.a.Overwrite {
			return "", nil
		}
		return "", loader.Execution("The existing file does not seem to be a private key formatted as DER, PEM or embedded in PKCS12. " +
			"Pass overwrite: true to force regeneration")
	case has(err, "Private key is unencrypted"):
		changes.Set("passphrase", true)
		k.now, encoding, err = k.m.reader().Key(path, nil)
		return encoding, err
	case has(err, "Private key is encrypted") && !data.Truth(k.a.Passphrase):
		refusal = "The existing file is encrypted. Pass overwrite: true to force regeneration without passphrase"
	default:
		return "", err
	}
	if !k.a.Overwrite {
		return "", loader.Execution("%s", refusal)
	}
	changes.Set("passphrase", true)
	return "", nil
}

func (k *keyState) compare(changes *data.Map, encoding string) {
	size := k.a.Keysize
	if size == nil {
		size = map[string]any{"rsa": int64(2048), "ec": int64(256)}[k.a.Algo]
	}
	kind := certificate.KindOf(k.now.Public())
	switch bits := int64(certificate.Size(k.now.Public())); {
	case k.a.Algo != kind:
		changes.Set("algo", k.a.Algo)
	case bits > 0 && !data.Equal(bits, size):
		changes.Set("keysize", k.a.Keysize)
	}
	if k.a.Encoding != encoding {
		changes.Set("encoding", k.a.Encoding)
	}
}

// content creates a key, or re-encodes the existing one if only the encoding differed.
func (k *keyState) content(ctx context.Context, now seen) ([]byte, error) {
	args := data.NewMap("passphrase", k.a.Passphrase, "encoding", k.a.Encoding,
		"pkcs12_encryption_compat", k.a.Pkcs12EncryptionCompat)
	if only(now.changes, "encoding", "passphrase") {
		der, err := certificate.MarshalKey(k.now, nil)
		if err != nil {
			return nil, loader.Execution("%w", err)
		}
		return k.m.bytes(ctx, "encode_private_key", []any{der}, args)
	}
	args.Update(data.NewMap("algo", k.a.Algo, "keysize", k.a.Keysize))
	return k.m.bytes(ctx, "create_private_key", nil, args)
}
