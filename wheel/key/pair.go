package key

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

func (m *module) pairs() []loader.Func {
	return []loader.Func{
		loader.F("gen", m.gen).SecretResult("priv"),
		loader.F("gen_accept", m.genAccept).SecretResult("priv"),
		loader.F("gen_keys", m.genKeys),
		loader.F("gen_signature", m.genSignature),
		loader.F("rotate_master", m.rotateMaster),
	}
}

type genArgs struct {
	ID      any `name:"id_" default:"None"`
	Keysize int `default:"2048"`
}

// gen makes a key pair and returns it as pub and priv. Nothing is stored.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.gen
func (m *module) gen(_ context.Context, a genArgs) (any, error) { return newPair(a.Keysize) }

// newPair returns a new key pair as text. Fewer than 2048 bits become 2048, as documented in Salt.
func newPair(bits int) (*data.Map, error) {
	if bits > 32768 {
		return nil, loader.Invocation("The maximum value for keysize is 32768")
	}
	key, err := crypto.GenerateKey(max(bits, 2048))
	if err != nil {
		return nil, err
	}
	return data.NewMap("priv", string(key.PEM("")), "pub", key.Public().PEM()), nil
}

type genAcceptArgs struct {
	ID      string `name:"id_"`
	Keysize int    `default:"2048"`
	Force   bool   `default:"False"`
}

// genAccept makes a key pair for a minion, accepts the public key and returns both. If the minion
// has an accepted key it returns an empty dictionary, unless force is true.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.gen_accept foo
func (m *module) genAccept(_ context.Context, a genAcceptArgs) (any, error) {
	if err := pki.ValidID(a.ID); err != nil {
		return nil, loader.Invocation("%w", err)
	}
	_, err := m.tree.Get(pki.Accepted, a.ID)
	switch {
	case err == nil && !a.Force:
		return data.NewMap(), nil
	case err != nil && !errors.Is(err, pki.ErrNotFound):
		return nil, err
	}
	pair, err := newPair(a.Keysize)
	if err != nil {
		return nil, err
	}
	return pair, m.tree.Put(pki.Accepted, a.ID, pair.Text("pub"))
}

type genKeysArgs struct {
	Keydir  any `default:"None"`
	Keyname any `default:"None"`
	Keysize any `default:"None"`
	User    any `default:"None"`
}

// genKeys makes a key pair in a directory, unless it exists, and returns its fingerprint. The
// default directory is the master's pki_dir, the default name is minion.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.gen_keys keydir=/root/keys keyname=web1
func (m *module) genKeys(_ context.Context, a genKeysArgs) (any, error) {
	dir, name, bits := m.tree.Path(), "minion", m.bits(a.Keysize)
	if data.Truth(a.Keydir) {
		dir = data.Str(a.Keydir)
	}
	if data.Truth(a.Keyname) {
		name = data.Str(a.Keyname)
	}
	if err := pki.ValidID(name); err != nil {
		return nil, loader.Invocation("%w", err)
	}
	path := filepath.Join(dir, name)
	pass, err := m.passphrase()
	if err != nil {
		return nil, err
	}
	if err := keyring.MakePair(path, bits, pass); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return crypto.FingerprintFile(path+".pub", m.env.Opts.Text("hash_type"))
}

func (m *module) bits(asked any) int {
	for _, v := range []any{asked, m.env.Option("keysize")} {
		if n, err := loader.Int(v); err == nil && n > 0 {
			return int(min(max(n, 2048), 32768))
		}
	}
	return 2048
}

func (m *module) passphrase() (string, error) {
	pass := m.env.Opts.Text("signing_key_pass")
	if strings.HasPrefix(pass, "sdb://") {
		return "", errors.New("signing_key_pass: this release cannot look up sdb:// addresses")
	}
	return pass, nil
}

type genSignatureArgs struct {
	Priv          any
	Pub           any
	SignaturePath any
	AutoCreate    bool `default:"False"`
	Keysize       any  `default:"None"`
}

// genSignature writes the signature of the master's public key. It returns True; False if there is
// one already, and a text if a key is missing.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.gen_signature None None None auto_create=True
func (m *module) genSignature(ctx context.Context, a genSignatureArgs) (any, error) {
	pass, err := m.passphrase()
	if err != nil {
		return nil, err
	}
	return m.ring(ctx).Sign(keyring.Signature{Pub: pathOf(a.Pub), Priv: pathOf(a.Priv),
		Folder: pathOf(a.SignaturePath), Name: m.env.Opts.Text("master_pubkey_signature"),
		SignKey: m.env.Opts.Text("master_sign_key_name"), Create: a.AutoCreate,
		Bits: m.bits(a.Keysize), Pass: pass})
}

func pathOf(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

type rotateMasterArgs struct {
	Days float64 `default:"90"`
}

// rotateMaster replaces the master's key by a new one, which the old one signs. Minions of Brine
// follow by themselves; those of Salt refuse the new key, unless they verify it by
// verify_master_pubkey_sign. Salt does not have this function.
//
// days
//
//	The number of days in which minions that are offline now may follow.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.rotate_master
func (m *module) rotateMaster(ctx context.Context, a rotateMasterArgs) (any, error) {
	done, err := m.ring(ctx).RotateMaster(m.env.Opts, a.Days, time.Now())
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return done, nil
}
