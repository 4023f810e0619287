package minion

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/daemon"
)

// ErrRunning is wrapped by New if another minion uses the same cachedir and does not end.
var ErrRunning = errors.New("another minion is running with this cachedir")

// lockTime is how long New waits for the cachedir. A minion takes some seconds to end; its
// successor may be started before that.
const lockTime = 20 * time.Second

// lockCacheDir locks the cachedir. If another minion that is ending holds the lock, it waits up to
// lockTime.
func (m *Minion) lockCacheDir(ctx context.Context) (err error) {
	file := filepath.Join(m.cfg.CacheDir, ".minion_lock")
	warned := false
	for by := time.Now().Add(lockTime); ; {
		m.unlock, err = daemon.LockFile(file) // waits for a second if the lock is held
		switch {
		case !errors.Is(err, daemon.ErrLocked):
			return err
		case time.Now().After(by):
			return fmt.Errorf("cachedir %s: %w", m.cfg.CacheDir, ErrRunning)
		case !warned:
			warned = true
			m.log.Warn("another minion is running with this cachedir; waiting for its end")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
