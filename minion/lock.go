package minion

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/daemon"
)

// ErrRunning is wrapped by New when another minion uses the same cachedir and does not end.
var ErrRunning = errors.New("another minion is running with this cachedir")

// A minion that is told to end takes some seconds; one that takes its place may be started before it is gone.
const lockTime = 20 * time.Second

// occupy takes a cachedir for this minion, once an earlier one that is ending has given it back.
func (m *Minion) occupy(ctx context.Context) (err error) {
	file := filepath.Join(m.cfg.CacheDir, ".minion_lock")
	told := false
	for by := time.Now().Add(lockTime); ; {
		m.free, err = daemon.LockFile(file)
		switch {
		case !errors.Is(err, daemon.ErrLocked):
			return err
		case time.Now().After(by):
			return fmt.Errorf("cachedir %s: %w", m.cfg.CacheDir, ErrRunning)
		case !told:
			told = true
			m.log.Warn("another minion is running with this cachedir; waiting for its end")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
