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

const keySize = 2048 // default of the option keysize

// regenKeys removes all keys of the minion, including the master's, and makes a new pair. The
// master has to accept it after the minion was restarted.
//
// CLI Example:
//
//	salt '*' saltutil.regen_keys
func (m keys) regenKeys(context.Context, loader.NoArgs) (any, error) {
	dir := m.env.Opts.Text("pki_dir")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, loader.Exception("FileNotFoundError",
			"[Errno 2] No such file or directory: '%s'", dir)
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

func (m keys) makeKeys(dir string) error {
	keys, err := pki.OpenKeys(dir,
		pki.Options{Permissive: data.Truth(m.env.Option("permissive_pki_access"))})
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

// revokeAuth asks all masters of the minion to delete its key. That cuts the minion off, so the
// master may not get the result.
//
// preserve_minion_cache : False
//
//	Let the master keep its cached data of the minion.
//
// CLI Example:
//
//	salt '*' saltutil.revoke_auth
func (m keys) revokeAuth(ctx context.Context, a revokeAuthArgs) (any, error) {
	if m.env.Host.Masters == nil {
		return nil, loader.Exception("KeyError", "'master_uri'")
	}
	err := m.env.Host.Masters.RequestAll(ctx,
		data.NewMap("cmd", "revoke_auth", "preserve_minion_cache",
			a.PreserveMinionCache))
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		m.env.Log.WithError(err).Warn("not every master was asked to delete the key of this minion")
	}
	return err == nil, nil
}
