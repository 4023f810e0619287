package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki"
)

// masterKey is the name of the master's key pair.
const masterKey = "master"

// succession replaces the master's key at runtime. If the key file has changed, and the current key
// has handed over to the new one, the master uses the new key. Any other key takes effect at the
// next start, as in Salt.
type succession struct {
	keys *pki.Keys
	pass string
	// file with the signature of the key (master_use_pubkey_signature); "" means none
	signature string
	key       *crypto.PrivateKey
	seen      fs.FileInfo // the key file that was checked last
	fault     string      // last error logged for a file that is checked again
	server    *channel.Server
	signIn    *channel.SignInServer
	sender    *channel.Publisher
	secrets   *channel.Secrets
	bus       *eventbus.Bus
	log       logrus.FieldLogger
}

func newSuccession(
	b base, k keyring, cfg *config.Master,
	sender *channel.Publisher, server *channel.Server, signIn *channel.SignInServer,
) *succession {
	s := &succession{
		keys:    k.keys.Keys,
		pass:    cfg.KeyPass,
		key:     k.key,
		server:  server,
		signIn:  signIn,
		sender:  sender,
		secrets: k.secrets,
		bus:     b.bus,
		log:     b.log,
	}
	if cfg.MasterSignPubkey && cfg.MasterUsePubkeySignature {
		s.signature = cfg.MasterPubkeySignature
	}
	return s // the first check reads the file, which may have changed since the start
}

func (s *succession) file() string { return filepath.Join(s.keys.Path(), masterKey+".pem") }

// adoptNewKey starts using a new key if there is one, and reports whether it did. An error is
// returned once, and the check is retried each time.
func (s *succession) adoptNewKey(context.Context) (changed bool, err error) {
	info, err := os.Stat(s.file())
	if errors.Is(err, fs.ErrNotExist) ||
		err == nil && s.seen != nil && os.SameFile(info, s.seen) &&
			info.ModTime().Equal(s.seen.ModTime()) {
		return false, nil
	}
	if err == nil {
		changed, err = s.evaluate(info)
	}
	if err == nil || changed {
		s.seen, s.fault = info, ""
		return changed, err
	}
	// only another file can fix it, and each try is expensive
	if errors.Is(err, crypto.ErrPassphrase) {
		s.seen = info
	}
	if errors.Is(err, errNotYet) || err.Error() == s.fault {
		return false, nil
	}
	s.fault = err.Error()
	return false, fmt.Errorf("check for a new key of the master: %w", err)
}

// errNotYet is returned while the two files of the key pair are being replaced.
var errNotYet = errors.New("only one file of the key pair was replaced yet")

// evaluate reads the key file, and adopts the key if that is allowed. If it returns no error, the
// file need not be checked again.
func (s *succession) evaluate(info fs.FileInfo) (changed bool, err error) {
	key, err := s.keys.Load(masterKey, s.pass)
	switch {
	case errors.Is(err, pki.ErrMismatch) && time.Since(info.ModTime()) < time.Minute:
		return false, errNotYet
	case err != nil:
		return false, err
	case key.Public().Equal(s.key.Public()):
		return false, nil
	}
	chain, err := s.keys.Chain(masterKey)
	if err != nil {
		return false, err
	}
	if _, _, err = chain.Follow(s.key.Public(), key.Public(),
		pki.Heard{Now: time.Now()}); err != nil {
		s.log.WithError(err).
			Warnf("Another key was found in %s; it takes effect at the next start, and minions will refuse it", s.file())
		return false, nil
	}
	return s.adopt(key, chain)
}

// adopt replaces the key everywhere at once: later sign-ins get new session keys, and publications
// are encrypted with these and signed by the new key.
func (s *succession) adopt(key *crypto.PrivateKey, chain pki.Chain) (changed bool, err error) {
	signed := ""
	if s.signature != "" {
		if signed, err = s.keys.ReadText(s.signature); err != nil {
			return false, fmt.Errorf("master_use_pubkey_signature: %w", err)
		}
	}
	err = s.sender.Exchange(key, func() error {
		return s.signIn.Exchange(key, chain, signed, func() error {
			return errors.Join(s.secrets.Rotate(),
				s.secrets.Prune(func(string) bool { return false }))
		})
	})
	if err != nil {
		return false, fmt.Errorf("adopt the new key of the master: %w", err)
	}
	s.server.SetKey(key)
	s.log.Warnf("The master has a new key, %s, authorized by the old one, %s",
		pki.KeyName(key.Public()),
		pki.KeyName(s.key.Public()))
	s.key = key
	return true, s.bus.Fire("key",
		data.NewMap("rotate_master_key", true, "fingerprint", pki.KeyName(key.Public())))
}
