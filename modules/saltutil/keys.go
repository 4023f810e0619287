package saltutil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

const keySize = 2048 // option keysize where it is not set

func (m *module) keyFuncs() []loader.Func {
	return []loader.Func{
		loader.F("regen_keys", m.regenKeys),
		loader.F("revoke_auth", m.revokeAuth),
	}
}

// regenKeys removes all keys of the minion, the master's among them, and makes the minion a new pair. The master has to accept it
// once the minion has been started anew.
//
// CLI Example:
//
//	salt '*' saltutil.regen_keys
func (m *module) regenKeys(context.Context, loader.NoArgs) (any, error) {
	dir := m.env.Opts.Text("pki_dir")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, loader.Exception("FileNotFoundError", "[Errno 2] No such file or directory: '%s'", dir)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			m.env.Log.WithError(err).Debug("remove a key")
		}
	}
	return nil, m.makeKeys(dir)
}

func (m *module) makeKeys(dir string) error {
	keys, err := pki.OpenKeys(dir, pki.Options{Permissive: data.Truth(m.env.Option("permissive_pki_access"))})
	if err != nil {
		return err
	}
	bits := int64(keySize)
	if v, ok := m.env.Opts.Get("keysize"); ok {
		if bits, err = loader.Int(v); err != nil {
			return fmt.Errorf("option keysize: %w", err)
		}
	}
	_, err = keys.LoadOrCreate("minion", int(bits), "")
	return err
}

type revokeAuthArgs struct {
	PreserveMinionCache any `default:"False"`
}

// revokeAuth asks all masters of the minion to delete its key. The minion is cut off by that, so that the master may not get the
// result any more.
//
// preserve_minion_cache : False
//
//	Let the master keep what it has cached of the minion.
//
// CLI Example:
//
//	salt '*' saltutil.revoke_auth
func (m *module) revokeAuth(ctx context.Context, a revokeAuthArgs) (any, error) {
	if m.env.Host.RequestAll == nil {
		return nil, loader.Exception("KeyError", "'master_uri'")
	}
	err := m.env.Host.RequestAll(ctx, data.NewMap("cmd", "revoke_auth", "preserve_minion_cache", a.PreserveMinionCache))
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		m.env.Log.WithError(err).Warn("a master was not asked to delete the key of this minion")
	}
	return err == nil, nil
}
