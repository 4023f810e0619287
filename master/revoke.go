package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/pki"
)

// revocation handles the command revoke_auth, by which a minion asks to delete its own key
// (salt/daemons/masterapi.py, RemoteFuncs.revoke_auth; salt/key.py, delete_key).
type revocation struct {
	base
	keyring
	data     *minionData
	compiler *pillarCompiler
	offline  *offline
}

// keyCommands returns the commands about keys.
func keyCommands(
	b base, k keyring, minions *minionData, compiler *pillarCompiler, away *offline,
) map[string]command {
	r := &revocation{base: b, keyring: k, data: minions, compiler: compiler, offline: away}
	return map[string]command{
		"revoke_auth":   {do: r.revoke, proof: true, effect: true},
		"verify_minion": {do: constant("")}, // fails in Salt, whoever calls it
	}
}

// constant returns a handler that always sends the same reply, which must not be changed.
func constant(reply any) func(context.Context, *channel.Command) (any, error) {
	return func(context.Context, *channel.Command) (any, error) { return reply, nil }
}

// revoke deletes the keys of a minion in all states, and the data that the master stores for it.
func (r *revocation) revoke(ctx context.Context, c *channel.Command) (any, error) {
	cfg, id := r.settings.config(), c.Caller.ID
	if !cfg.AllowMinionKeyRevoke {
		r.log.Warnf("Minion %s requested key revoke, but allow_minion_key_revoke is set to False",
			id)
		return rawMap(c.Load), nil
	}
	r.log.Infof("Minion %s has its key deleted", id)
	if err := r.deleteKeys(id); err != nil {
		return nil, err
	}
	err := errors.Join(r.offline.forget(ctx, func(other string) bool { return other != id }),
		r.bus.Fire(eventbus.Tagify("key"), data.NewMap("result", true, "act", "delete", "id", id)))
	preserve := data.Truth(c.Load.Value("preserve_minion_cache")) ||
		data.Truth(r.settings.saltOptions().Value("preserve_minion_cache"))
	if !preserve {
		err = errors.Join(err, r.data.bank.Flush(mine.Bank(id), ""), r.compiler.Clear(id))
	}
	if cfg.RotateAESKey {
		err = errors.Join(err, r.rotate(preserve))
	}
	return err == nil, err
}

func (r *revocation) deleteKeys(id string) error {
	for _, s := range pki.States() {
		if err := r.keys.Delete(s, id); err != nil && !errors.Is(err, pki.ErrNotFound) {
			return fmt.Errorf("delete the key of minion %s: %w", id, err)
		}
	}
	return nil
}

// rotate makes new session keys, so that the minion can read nothing further. Unless preserve is
// set, the regular rotation also drops the caches of minions without a key.
func (r *revocation) rotate(preserve bool) error {
	if !preserve {
		return r.drop.Request()
	}
	if err := r.secrets.Rotate(); err != nil {
		return err
	}
	return r.bus.Fire("key", data.NewMap("rotate_aes_key", true))
}
