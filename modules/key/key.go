// Package key is Salt's module key: fingerprints of the keys by which a minion and its master know one another
// (salt/modules/key.py). They are those that `salt-key -F` shows at the master.
package key

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module key.
func Plugin() loader.Plugin { return loader.Plugin{Name: "key", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("finger", m.finger),
		loader.F("finger_master", m.fingerMaster),
	}}, nil
}

type fingerArgs struct {
	HashType string `default:"None"`
}

// finger returns the fingerprint of the minion's public key. Compare it with that of `salt-key -f ID` before you accept the key.
//
// hash_type
//
//	The hash, the option hash_type by default.
//
// CLI Example:
//
//	salt '*' key.finger
func (m *module) finger(_ context.Context, a fingerArgs) (any, error) { return m.of("minion.pub", a) }

// fingerMaster returns the fingerprint of the master's public key, as the minion has it; an empty text before the minion has met its
// master. Compare it with that of master.pub in `salt-key -F`.
//
// hash_type
//
//	The hash, the option hash_type by default.
//
// CLI Example:
//
//	salt '*' key.finger_master
func (m *module) fingerMaster(_ context.Context, a fingerArgs) (any, error) {
	return m.of("minion_master.pub", a)
}

func (m *module) of(file string, a fingerArgs) (any, error) {
	hash := cmp.Or(a.HashType, m.env.Opts.Text("hash_type"), "sha256")
	return crypto.FingerprintFile(filepath.Join(m.env.Opts.Text("pki_dir"), file), hash)
}
