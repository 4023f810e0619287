package nacl

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	sodium "github.com/brineproject/brine/crypto/nacl"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

type keygenArgs struct {
	SkFile any       `default:"None"`
	PkFile any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// keygen makes a key pair and returns it in base64, or writes it to files.
//
// sk_file
//
//	The file of the secret key. Without it the keys are returned. An existing file is kept, and the file of its public key is created
//	if it is missing.
//
// pk_file
//
//	The file of the public key. Default: that of the secret key with .pub appended.
//
// CLI Example:
//
//	salt-run nacl.keygen
//	salt-run nacl.keygen sk_file=/etc/salt/pki/master/nacl
//	salt-run nacl.keygen sk_file=/etc/salt/pki/master/nacl pk_file=/etc/salt/pki/master/nacl.pub
func (m *module) keygen(_ context.Context, a keygenArgs) (any, error) {
	if v, ok := a.Kwargs.Get("keyfile"); ok {
		a.SkFile = v
	}
	if a.SkFile == nil {
		public, secret, err := sodium.NewKey()
		if err != nil {
			return nil, err
		}
		return data.NewMap("sk", inBase64(secret), "pk", inBase64(public)), nil
	}
	sk := data.Str(a.SkFile)
	pk := sk + ".pub"
	if a.PkFile != nil {
		pk = data.Str(a.PkFile)
	}
	switch {
	case paths.IsFile(sk) && paths.IsFile(pk):
		return nil, loader.Exception("Exception",
			"sk_file:%s and pk_file:%s already exist.", sk, pk)
	case paths.IsFile(sk):
		return publicOf(sk, pk)
	}
	public, secret, err := sodium.NewKey()
	if err != nil {
		return nil, err
	}
	if err := writeNew(sk, []byte(inBase64(secret)), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(pk, []byte(inBase64(public)), 0o644); err != nil {
		return nil, loader.OSError(err)
	}
	return "saved sk_file:" + sk + "  pk_file: " + pk, nil
}

// publicOf writes the public key of a secret key.
func publicOf(sk, pk string) (any, error) {
	src, err := os.ReadFile(sk)
	if err != nil {
		return nil, loader.OSError(err)
	}
	b, err := decoded(strings.TrimRight(string(src), "\n"))
	if err != nil {
		return nil, err
	}
	secret, err := pair(b)
	if err != nil {
		return nil, err
	}
	public, err := sodium.Public(secret)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(pk, []byte(inBase64(public)), 0o644); err != nil {
		return nil, loader.OSError(err)
	}
	return "saved pk_file: " + pk, nil
}

func inBase64(key *[32]byte) string { return base64.StdEncoding.EncodeToString(key[:]) }

// writeNew writes a file that must not exist yet.
func writeNew(name string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return loader.OSError(err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return loader.OSError(err)
	}
	return nil
}

type fileArgs struct {
	Name   string
	Out    any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// encFile encrypts a file on the master and returns the box in base64, or writes it to a file. The
// other arguments are those of nacl.enc.
//
// out
//
//	The file to write, which must not exist.
//
// CLI Example:
//
//	salt-run nacl.enc_file name=/tmp/id_rsa
//	salt-run nacl.enc_file name=/tmp/id_rsa box_type=secretbox sk_file=/etc/salt/pki/master/nacl.pub
func (m *module) encFile(ctx context.Context, a fileArgs) (any, error) {
	return m.file(ctx, a, m.enc, 0o644)
}

// decFile decrypts the box in a file on the master and returns the text, or writes it to a file
// that only its owner can read. The other arguments are those of nacl.enc.
//
// out
//
//	The file to write, which must not exist.
//
// CLI Example:
//
//	salt-run nacl.dec_file name=/tmp/id_rsa.nacl
//	salt-run nacl.dec_file name=/tmp/id_rsa.nacl box_type=secretbox sk_file=/etc/salt/pki/master/nacl.pub
func (m *module) decFile(ctx context.Context, a fileArgs) (any, error) {
	return m.file(ctx, a, m.dec, 0o600)
}

func (m *module) file(
	ctx context.Context, a fileArgs, do func(context.Context, boxArgs) (any, error),
	mode fs.FileMode,
) (any, error) {
	src, err := os.ReadFile(a.Name)
	if err != nil {
		return nil, loader.OSError(err)
	}
	if !utf8.Valid(src) {
		return nil, loader.Exception("UnicodeDecodeError", "%s is not UTF-8", a.Name)
	}
	v, err := do(ctx, boxArgs{string(src), a.Kwargs})
	if err != nil || !data.Truth(a.Out) {
		return v, err
	}
	out := data.Str(a.Out)
	if paths.IsFile(out) {
		return nil, loader.Exception("Exception", "file:%s already exist.", out)
	}
	b, err := bytesOf(v)
	if err != nil {
		return nil, err
	}
	return "Wrote: " + out, writeNew(out, b, mode)
}
