package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/pki"
)

// revocation does the command revoke_auth: a minion asks that its own key be deleted (salt/daemons/masterapi.py,
// RemoteFuncs.revoke_auth; salt/key.py, delete_key).
type revocation struct {
	settings *settings
	keys     pki.Store
	data     *minionData
	compiler *pillarCompiler
	offline  *offline
	drop     *pki.DropFile
	secrets  *channel.Secrets
	bus      *eventbus.Bus
	log      logrus.FieldLogger
}

// keyCommands are the commands by which minions ask about keys, and those that other parts of a master will take.
func keyCommands(p *parts, away *offline) map[string]command {
	r := &revocation{settings: p.settings, keys: p.keys, data: p.data, compiler: p.compiler, offline: away, drop: p.drop, secrets: p.secrets, bus: p.bus, log: p.o.Log}
	s := &syndics{quiet: p.quiet, log: p.o.Log}
	return map[string]command{
		"revoke_auth":    {do: r.revoke, proof: true, effect: true},
		"verify_minion":  {do: constant("")}, // fails in Salt, whoever calls it
		"_syndic_return": {do: s.refuse, proof: true, effect: true},
	}
}

// constant returns a handler with one reply, which nobody changes.
func constant(reply any) func(context.Context, *channel.Command) (any, error) {
	return func(context.Context, *channel.Command) (any, error) { return reply, nil }
}

// revoke deletes the key of a minion, in whatever state one of its id is, and what the master keeps of it.
func (r *revocation) revoke(_ context.Context, c *channel.Command) (any, error) {
	cfg, id := r.settings.now(), c.Caller.ID
	if !cfg.AllowMinionKeyRevoke {
		r.log.Warnf("Minion %s requested key revoke, but allow_minion_key_revoke is set to False", id)
		return rawMap(c.Load), nil
	}
	r.log.Infof("Minion %s has its key deleted", id)
	if err := r.deleteKeys(id); err != nil {
		return nil, err
	}
	err := errors.Join(r.offline.forget(func(other string) bool { return other != id }),
		r.bus.Fire(eventbus.Tagify("key"), data.NewMap("result", true, "act", "delete", "id", id)))
	preserve := data.Truth(c.Load.Value("preserve_minion_cache")) || data.Truth(r.settings.all().Value("preserve_minion_cache"))
	if !preserve {
		err = errors.Join(err, r.data.bank.Flush(dataBank(id), ""), r.compiler.Clear(id))
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

// rotate takes from the minion what it knows of the session keys. The usual way drops the caches of all minions without a key.
func (r *revocation) rotate(preserve bool) error {
	if !preserve {
		return r.drop.Request()
	}
	if err := r.secrets.Rotate(); err != nil {
		return err
	}
	return r.bus.Fire("key", data.NewMap("rotate_aes_key", true))
}

// syndics takes what masters below this one send. There are none yet: a key of a minion is no syndic's (CVE-2024-22231).
type syndics struct {
	quiet *loglimit.Limiter
	log   logrus.FieldLogger
}

func (s *syndics) refuse(_ context.Context, c *channel.Command) (any, error) {
	if more, ok := s.quiet.Allow("syndic " + c.Caller.ID); ok {
		s.log.Warnf("%s is no syndic, and its returns for other minions are refused (%d more since the last warning)", c.Caller.ID, more)
	}
	return data.NewMap(), nil
}
