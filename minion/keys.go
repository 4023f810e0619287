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

// withStoredKey adds the path of the stored master key to a sign-in error about the master's key.
// Other errors are returned unchanged.
func (m *Minion) withStoredKey(err error) error {
	if !errors.Is(err, channel.ErrMasterKey) || m.cfg.VerifyMasterPubkeySign {
		return err
	}
	return fmt.Errorf("%w. The stored key is %s", err, filepath.Join(m.cfg.PKIDir, trusted.MinionFile))
}
