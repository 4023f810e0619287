package minion

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/pki/trusted"
)

var _ channel.Heir = trusted.Keys{}

// trusted returns the keys that identify the masters of the minion.
func (m *Minion) trusted() trusted.Keys {
	return trusted.Keys{Dir: m.keys, File: trusted.MinionFile, Sign: m.cfg.MasterSignKeyName, Log: m.log,
		Now: time.Now}
}

func isAboutMasterKey(err error) bool {
	return errors.Is(err, channel.ErrMasterKey) || errors.Is(err, channel.ErrOtherMaster)
}

// withStoredKey adds the path of the stored master key to a sign-in error about the master's key.
// Other errors are returned unchanged.
func (m *Minion) withStoredKey(err error) error {
	if !isAboutMasterKey(err) || m.cfg.VerifyMasterPubkeySign {
		return err
	}
	return fmt.Errorf("%w. The stored key is %s", err, filepath.Join(m.cfg.PKIDir, trusted.MinionFile))
}
