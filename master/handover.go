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
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki"
)

// masterKey is the name of the pair of keys that a master is known by.
const masterKey = "master"

// succession takes up another key of the master while it runs: one that lies in place of the key that it has, and that this one
// has handed over to. Any other is left for the next start, as in Salt.
type succession struct {
	keys      *pki.Keys
	pass      string
	signature string // the file that signs the key (master_use_pubkey_signature); "" is none
	key       *crypto.PrivateKey
	seen      fs.FileInfo // of the file that was judged last
	fault     string      // what was told last of a file that is to be judged yet
	server    *channel.Server
	signIn    *channel.SignIn
	sender    *channel.Publisher
	secrets   *channel.Secrets
	bus       *eventbus.Bus
	log       logrus.FieldLogger
}

func newSuccession(p *parts, server *channel.Server, signIn *channel.SignIn) *succession {
	s := &succession{keys: p.keys.Keys, pass: p.cfg.KeyPass, key: p.key, server: server, signIn: signIn, sender: p.sender,
		secrets: p.secrets, bus: p.bus, log: p.o.Log}
	if p.cfg.MasterSignPubkey && p.cfg.MasterUsePubkeySignature {
		s.signature = p.cfg.MasterPubkeySignature
	}
	return s // the first look reads the file, which may be another one by now
}

func (s *succession) file() string { return filepath.Join(s.keys.Path(), masterKey+".pem") }

// look takes up the key that lies there now. It reports whether that is another one. What goes wrong is told once, and tried again
// each time.
func (s *succession) look(context.Context) (changed bool, err error) {
	info, err := os.Stat(s.file())
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.seen != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) {
		return false, nil
	}
	if err == nil {
		changed, err = s.judge(info)
	}
	if err == nil || changed {
		s.seen, s.fault = info, ""
		return changed, err
	}
	if errors.Is(err, crypto.ErrPassphrase) { // only another file can mend it, and to try costs time
		s.seen = info
	}
	if errors.Is(err, errNotYet) || err.Error() == s.fault {
		return false, nil
	}
	s.fault = err.Error()
	return false, fmt.Errorf("look whether the master has another key: %w", err)
}

// errNotYet is returned while the pair of files is being written.
var errNotYet = errors.New("the other half of the key is on its way")

// judge reads the key that lies there, and takes it up if that may be. Without an error that is the last word on the file.
func (s *succession) judge(info fs.FileInfo) (changed bool, err error) {
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
	if _, _, err = chain.Follow(s.key.Public(), key.Public(), pki.Heard{Now: time.Now()}); err != nil {
		s.log.WithError(err).Warnf("Another key lies in %s; it holds from the next start on, and minions will refuse it", s.file())
		return false, nil
	}
	return s.takeUp(key, chain)
}

// takeUp exchanges the key everywhere at once: who signs in from then on gets new session keys, and what is published is
// under these and signed by the new key.
func (s *succession) takeUp(key *crypto.PrivateKey, chain pki.Chain) (changed bool, err error) {
	signed := ""
	if s.signature != "" {
		if signed, err = s.keys.ReadText(s.signature); err != nil {
			return false, fmt.Errorf("master_use_pubkey_signature: %w", err)
		}
	}
	err = s.sender.Exchange(key, func() error {
		return s.signIn.Exchange(key, chain, signed, func() error {
			return errors.Join(s.secrets.Rotate(), s.secrets.Prune(func(string) bool { return false }))
		})
	})
	if err != nil {
		return false, fmt.Errorf("take up the new key of the master: %w", err)
	}
	s.server.SetKey(key)
	s.log.Warnf("The master has a new key, %s, handed over to by the old one, %s", pki.KeyName(key.Public()), pki.KeyName(s.key.Public()))
	s.key = key
	return true, s.bus.Fire("key", data.NewMap("rotate_master_key", true, "fingerprint", pki.KeyName(key.Public())))
}
