// Package key is Salt's module key: fingerprints of the keys that a minion and its master use to
// identify each other (salt/modules/key.py). They are the same as those that `salt-key -F` shows on
// the master.
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

// finger returns the fingerprint of the minion's public key. Compare it with the output of
// `salt-key -f ID` before you accept the key.
//
// hash_type
//
//	The hash. Default: the option hash_type.
//
// CLI Example:
//
//	salt '*' key.finger
func (m *module) finger(_ context.Context, a fingerArgs) (any, error) {
	return m.of("minion.pub", a)
}

// fingerMaster returns the fingerprint of the master's public key as stored on the minion. It is an
// empty string if the minion has not connected to the master yet. Compare it with that of
// master.pub in `salt-key -F`.
//
// hash_type
//
//	The hash. Default: the option hash_type.
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
