// Package nacl is Salt's runner nacl: it makes NaCl keys and encrypts values for pillars and SLS
// files (salt/runners/nacl.py, salt/utils/nacl.py). The renderer nacl decrypts them.
//
// Keys come from the arguments sk, sk_file, pk and pk_file, or from those of the option
// nacl.config. box_type is sealedbox, which the public key encrypts and the secret key decrypts, or
// secretbox, which uses the secret key for both.
//
// As in Salt, without arguments and options the files are master/nacl and master/nacl.pub below
// pki_dir, which on a master is pki/master/master/nacl. Unlike in Salt, a secret key file is
// created with mode 0600, and is never readable by others before that.
package nacl

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the runner nacl.
func Plugin() loader.Plugin { return loader.Plugin{Name: "nacl", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.Option("fips_mode") == true {
		return nil, errors.New("nacl runner not available in FIPS mode")
	}
	m := &module{env}
	hide := func(f *loader.Function) *loader.Function { return f.Secret("data", "sk", "key") }
	plain := func(f *loader.Function) *loader.Function { return hide(f).SecretResult(loader.SecretAll) }
	return &loader.Module{Funcs: []loader.Func{
		loader.F("dec", m.dec).Secret("sk", "key").SecretResult(loader.SecretAll),
		plain(loader.F("dec_file", m.decFile)),
		hide(loader.F("enc", m.enc)),
		hide(loader.F("enc_file", m.encFile)),
		loader.F("keygen", m.keygen).SecretResult("sk"),
		plain(loader.F("sealedbox_decrypt", m.sealedboxDecrypt)),
		hide(loader.F("sealedbox_encrypt", m.sealedboxEncrypt)),
		plain(loader.F("secretbox_decrypt", m.secretboxDecrypt)),
		hide(loader.F("secretbox_encrypt", m.secretboxEncrypt)),
	}}, nil
}

type boxArgs struct {
	Data   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// enc encrypts a text and returns the box in base64.
//
// box_type : sealedbox
//
//	sealedbox or secretbox.
//
// sk, sk_file, pk, pk_file
//
//	The keys in base64, or files that hold them. key and keyfile are older names of sk and sk_file and imply a secretbox.
//
// CLI Example:
//
//	salt-run nacl.enc asecretpass
//	salt-run nacl.enc asecretpass pk=/kfGX7PbWeu099702PBbKWLpG/9p06IQRswkdWHCDk0=
func (m *module) enc(_ context.Context, a boxArgs) (any, error) {
	return m.encrypt(a.Data, renameOlder(a.Kwargs))
}

// dec decrypts a box in base64. The arguments are those of nacl.enc.
//
// CLI Example:
//
//	salt-run nacl.dec data='tqXzeIJnTAM9Xf0mdLcpEdklMbfBGPj2oTKmlgrm3S1DTVVHNnh9h8mU1GKllGq/+cYsk6m5WhGdk58='
func (m *module) dec(_ context.Context, a boxArgs) (any, error) {
	return m.decrypt(a.Data, renameOlder(a.Kwargs))
}

// renameOlder renames arguments from their older names.
func renameOlder(words *data.Map) *data.Map {
	words = words.Clone()
	for name, now := range map[string]string{"keyfile": "sk_file", "key": "sk"} {
		if v, ok := words.Get(name); ok {
			words.Set(now, v)
			words.Set("box_type", "secretbox")
		}
	}
	return words
}

func (m *module) encrypt(text any, words *data.Map) (any, error) {
	if m.config(words).Text("box_type") == "secretbox" {
		return m.secretEncrypt(text, words)
	}
	return m.sealedEncrypt(text, words)
}

func (m *module) decrypt(text any, words *data.Map) (any, error) {
	if m.config(words).Text("box_type") == "secretbox" {
		return m.secretDecrypt(text, words)
	}
	return m.sealedDecrypt(text, words)
}

// sealedboxEncrypt encrypts a text for a public key: pk, or the key in pk_file.
//
// CLI Example:
//
//	salt-run nacl.sealedbox_encrypt datatoenc
//	salt-run nacl.sealedbox_encrypt datatoenc pk_file=/etc/salt/pki/master/nacl.pub
func (m *module) sealedboxEncrypt(_ context.Context, a boxArgs) (any, error) {
	return m.sealedEncrypt(a.Data, a.Kwargs)
}

// sealedboxDecrypt decrypts a box for the matching public key with a secret key: sk, or the key in
// sk_file.
//
// CLI Example:
//
//	salt-run nacl.sealedbox_decrypt pEXHQM6cuaF7A=
//	salt-run nacl.sealedbox_decrypt data='pEXHQM6cuaF7A=' sk_file=/etc/salt/pki/master/nacl
func (m *module) sealedboxDecrypt(_ context.Context, a boxArgs) (any, error) {
	return m.sealedDecrypt(a.Data, a.Kwargs)
}

// secretboxEncrypt encrypts a text with a secret key: sk, or the key in sk_file.
//
// CLI Example:
//
//	salt-run nacl.secretbox_encrypt datatoenc
//	salt-run nacl.secretbox_encrypt datatoenc sk_file=/etc/salt/pki/master/nacl
func (m *module) secretboxEncrypt(_ context.Context, a boxArgs) (any, error) {
	return m.secretEncrypt(a.Data, a.Kwargs)
}

// secretboxDecrypt decrypts a box made with the same secret key: sk, or the key in sk_file.
//
// CLI Example:
//
//	salt-run nacl.secretbox_decrypt pEXHQM6cuaF7A=
//	salt-run nacl.secretbox_decrypt data='pEXHQM6cuaF7A=' sk_file=/etc/salt/pki/master/nacl
func (m *module) secretboxDecrypt(_ context.Context, a boxArgs) (any, error) {
	return m.secretDecrypt(a.Data, a.Kwargs)
}
